/** The contract of the port `WriteStaging`, kept by the disk and by the in-memory one. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { NewWrite, StagedWrite, WriteStaging } from '../../src/ports/disk.ts';
import type { RefName, RepoPath, SessionId } from '../../src/names.ts';
import { writeStaging } from '../../src/system/writes/write-staging.ts';
import { writeLimits } from '../../src/session/settings/write-limits.ts';
import { initialState, type WriteState } from '../../src/write/write.ts';
import { bytes } from '../support/disk.ts';
import { memoryWrites, type MemoryWrite } from '../support/memory-writes.ts';

interface Stage {
  writes: WriteStaging;
  clock: { nowMs: number; now(): Date };
  /** Bytes after the content of a session that no process holds, as a crash leaves them. */
  leaveTail(id: string, text: string): Promise<void>;
  damage(id: string): Promise<void>;
}

const opened: string[] = [];
afterEach(async () => {
  for (const dir of opened.splice(0)) await rm(dir, { recursive: true, force: true });
});

function openClock(): Stage['clock'] {
  const clock = { nowMs: Date.now(), now: () => new Date(clock.nowMs) };
  return clock;
}

async function openDisk(): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-writes-'));
  opened.push(dir);
  const clock = openClock();
  const processes = { bootId: async () => 'boot-1', isAlive: async () => false };
  const writes = writeStaging({ dir: join(dir, 'write_sessions'), clock, waitMs: 400, ...processes });
  return {
    writes,
    clock,
    leaveTail: (id, text) => writeFile(join(writes.directoryOf(id), 'content.txt'), text, { flag: 'a' }),
    damage: (id) => writeFile(join(writes.directoryOf(id), 'state.json'), '{"phase":"receiv'),
  };
}

async function openMemory(): Promise<Stage> {
  const clock = openClock();
  const sessions = new Map<string, MemoryWrite>();
  const change = (id: string, to: Partial<MemoryWrite>) => void Object.assign(sessions.get(id) ?? {}, to);
  return {
    writes: memoryWrites(clock, sessions),
    clock,
    leaveTail: async (id, text) => change(id, { tail: bytes(text) }),
    damage: async (id) => change(id, { state: null }),
  };
}

let count = 0;
function wish(more: Partial<NewWrite> = {}): NewWrite {
  count += 1;
  return {
    id: `019bf000-0000-4000-8000-${String(count).padStart(12, '0')}`,
    intent: 'Write a guide',
    target: 'docs/guide.md' as RepoPath,
    operation: 'create',
    root: '/project',
    isLinked: false,
    line: null,
    base: null,
    endMarker: 'DONE',
    begunAt: '2026-01-24T10:00:00.000Z',
    hasController: false,
    ...more,
  };
}

const text = (all: Uint8Array) => new TextDecoder().decode(all);

describe.each([
  ['in memory', openMemory],
  ['on disk', openDisk],
])('write sessions %s', (_, openStage) => {
  async function beginOne(stage: Stage, more: Partial<NewWrite> = {}): Promise<StagedWrite> {
    return stage.writes.begin(wish(more), initialState(stage.clock.nowMs), writeLimits);
  }

  const received = (stage: Stage, size: number): WriteState => ({
    ...initialState(stage.clock.nowMs),
    phase: 'receiving',
    size,
  });

  /** Begun, with content, and held by no process. */
  async function leaveOne(stage: Stage, content = 'one\n', more: Partial<NewWrite> = {}): Promise<string> {
    const staged = await beginOne(stage, more);
    await staged.save(bytes(content), received(stage, bytes(content).length));
    await staged.close({ goesOn: true });
    return staged.record.id;
  }

  test('opening a session again reads the saved content, in pieces or as a whole', async () => {
    const stage = await openStage();
    const staged = await beginOne(stage);
    await staged.save(bytes('one '), received(stage, 4));
    await staged.save(bytes('ü\r\n'), received(stage, 8));
    expect(text(await staged.read())).toBe('one ü\r\n');
    await staged.close();
    const again = await stage.writes.open(staged.record.id);
    expect(again?.record).toEqual(staged.record);
    expect(again?.state).toEqual(received(stage, 8));
    await again?.save(bytes('more'), received(stage, 12));
    expect(text((await again?.read()) ?? bytes(''))).toBe('one ü\r\nmore');
    await again?.replace(bytes('short'), received(stage, 5));
    await again?.save(bytes('er'), received(stage, 7));
    await again?.close();
    const last = await stage.writes.open(staged.record.id);
    expect(text((await last?.read()) ?? bytes(''))).toBe('shorter');
    expect(last?.state.size).toBe(7);
    await last?.close();
  });

  test('a session is found with its record and state, oldest first, and one that never existed is not', async () => {
    const stage = await openStage();
    const first = await leaveOne(stage);
    stage.clock.nowMs += writeLimits.idleExpiryMs;
    const second = await leaveOne(stage, 'two', { begunAt: '2026-01-24T11:00:00.000Z', hasController: true });
    const [one, two, ...others] = await stage.writes.list();
    expect(others).toEqual([]);
    expect(one).toMatchObject({ id: first, isControlled: false, tailBytes: 0, isDamaged: false });
    expect(two).toMatchObject({ id: second, state: { phase: 'receiving', size: 3 }, isControlled: true });
    expect(two?.record).toMatchObject({ id: second, target: 'docs/guide.md', hasController: true });
    expect(await stage.writes.find(second)).toEqual(two);
    const none = wish().id;
    for (const id of [none, '../..', '']) {
      expect(await stage.writes.find(id)).toBeNull();
      expect(await stage.writes.open(id)).toBeNull();
      expect(await stage.writes.resume(id, writeLimits)).toBeNull();
      expect(await stage.writes.readContent(id)).toBeNull();
      await stage.writes.remove(id);
    }
    expect(await stage.writes.list()).toHaveLength(2);
  });

  test('a second session is refused while the first is in use, and one of several simultaneous ones begins', async () => {
    const stage = await openStage();
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => beginOne(stage)));
    const begun = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(begun).toHaveLength(1);
    const refusal = {
      code: 'WRITE_ACTIVE',
      message: 'Another write session is already active. Please wait for it to complete.',
      hint: expect.stringMatching(
        new RegExp(`${begun[0]?.record.id}.*docs/guide\\.md.*teddy write list.*teddy write cancel`),
      ) as string,
    };
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(refusal);
    await begun[0]?.close();
    await expect(beginOne(stage)).rejects.toMatchObject(refusal);
    expect(await stage.writes.list()).toHaveLength(1);
  });

  const onLine = (name: string, more: Partial<NewWrite> = {}): Partial<NewWrite> => ({
    line: { ref: `refs/heads/teddy/20260124-${name}` as RefName, session: `20260124-${name}` as SessionId },
    target: `${name}.md` as RepoPath,
    ...more,
  });

  test.each<[string, Partial<NewWrite>, Partial<NewWrite>]>([
    ['on one line', onLine('a'), onLine('a', { target: 'b.md' as RepoPath, root: '/other' })],
    ['on no line', { target: 'a.md' as RepoPath }, { target: 'b.md' as RepoPath, root: '/other' }],
    ['on no line and on the line for those', { target: 'a.md' as RepoPath }, onLine('writes-2')],
    ['with one target in one work tree', onLine('a'), onLine('b', { target: 'a.md' as RepoPath })],
    ['for which no request named a line', onLine('a', { isUnnamed: true }), onLine('b', { isUnnamed: true })],
  ])('two sessions %s are not open at the same time, nor can one of them be resumed', async (_case, first, second) => {
    const stage = await openStage();
    const left = await leaveOne(stage, 'one\n', second);
    stage.clock.nowMs += writeLimits.idleExpiryMs;
    await (await beginOne(stage, first)).close();
    await expect(beginOne(stage, second)).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
    await expect(stage.writes.resume(left, writeLimits)).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
  });

  test.each<[string, Partial<NewWrite>]>([
    ['one on another line', onLine('b')],
    ['one on no line', { target: 'b.md' as RepoPath }],
    ['one with the same target in another work tree', onLine('b', { target: 'a.md' as RepoPath, root: '/other' })],
    ['one with the same target in none', onLine('b', { target: 'a.md' as RepoPath, root: null })],
    ['one for which no request named a line', onLine('b', { isUnnamed: true })],
  ])('%s is open beside a session', async (_case, second) => {
    const stage = await openStage();
    await beginOne(stage, onLine('a'));
    const left = await leaveOne(stage, 'one\n', second);
    await (await stage.writes.resume(left, writeLimits))?.close();
    expect(await stage.writes.list()).toHaveLength(2);
  });

  test('a session holds the slot until it is unused for its timeout, which use prolongs', async () => {
    const stage = await openStage();
    const id = await leaveOne(stage);
    stage.clock.nowMs += writeLimits.idleExpiryMs - 1;
    await expect(beginOne(stage)).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
    const staged = await stage.writes.open(id);
    await staged?.save(bytes('x'), received(stage, 5));
    await staged?.close();
    stage.clock.nowMs += writeLimits.idleExpiryMs - 1;
    await expect(beginOne(stage)).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
    stage.clock.nowMs += 1;
    await (await beginOne(stage)).close();
  });

  test.each(['committed', 'cancelled', 'expired', 'failed'] as const)(
    'a session that is %s holds no slot',
    async (phase) => {
      const stage = await openStage();
      const staged = await beginOne(stage);
      await staged.save(bytes(''), { ...received(stage, 0), phase });
      await staged.close();
      await (await beginOne(stage)).close();
      expect(await stage.writes.list()).toHaveLength(2);
    },
  );

  test('resuming a session is refused while another has the slot, and takes the slot when it is free', async () => {
    const stage = await openStage();
    const first = await leaveOne(stage);
    stage.clock.nowMs += writeLimits.idleExpiryMs;
    const second = await beginOne(stage);
    await expect(stage.writes.resume(first, writeLimits)).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
    await second.remove();
    const resumed = await stage.writes.resume(first, writeLimits);
    expect(text((await resumed?.read()) ?? bytes(''))).toBe('one\n');
    expect(resumed?.state.activityAt).toBe(stage.clock.nowMs);
    expect(await stage.writes.find(first)).toMatchObject({ isControlled: true, record: { hasController: true } });
    await resumed?.close({ goesOn: true });
    await expect(beginOne(stage)).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
    await (await stage.writes.open(first))?.close();
    expect(await stage.writes.find(first)).toMatchObject({ isControlled: false });
    await beginOne(stage);
  });

  test('an opened session is held until it is closed', async () => {
    const stage = await openStage();
    const staged = await beginOne(stage);
    const { id } = staged.record;
    await expect(stage.writes.open(id)).rejects.toMatchObject({ code: 'LOCKED' });
    await expect(stage.writes.resume(id, writeLimits)).rejects.toMatchObject({ code: 'LOCKED' });
    await expect(stage.writes.remove(id)).rejects.toMatchObject({ code: 'LOCKED' });
    expect(await stage.writes.find(id)).toMatchObject({ id });
    await staged.close();
    await staged.close();
    await expect(staged.save(bytes('late'), received(stage, 4))).rejects.toThrow('closed');
    await (await stage.writes.open(id))?.close();
    await stage.writes.remove(id);
    expect(await stage.writes.find(id)).toBeNull();
  });

  test('an unconfirmed tail is shown, and set aside before anything is added', async () => {
    const stage = await openStage();
    const id = await leaveOne(stage);
    await stage.leaveTail(id, 'tail\0');
    expect(await stage.writes.find(id)).toMatchObject({ tailBytes: 5, isDamaged: false });
    const content = await stage.writes.readContent(id);
    expect(content && [text(content.verified), text(content.tail), content.aside]).toEqual(['one\n', 'tail\0', []]);
    const staged = await stage.writes.open(id);
    expect(text((await staged?.read()) ?? bytes(''))).toBe('one\n');
    await staged?.save(bytes('two\n'), received(stage, 8));
    await staged?.close();
    const after = await stage.writes.readContent(id);
    expect(after && [text(after.verified), text(after.tail)]).toEqual(['one\ntwo\n', '']);
    expect(after?.aside.map(({ name, bytes: all }) => [name, text(all)])).toEqual([['tail-1.txt', 'tail\0']]);
    expect(await stage.writes.find(id)).toMatchObject({ tailBytes: 0 });
    expect(await stage.writes.readTails(id)).toEqual(after?.aside);
    await stage.writes.remove(id);
    expect(await stage.writes.readTails(id)).toEqual([]);
  });

  test('a damaged session is listed, shown as a tail, removed, and not opened', async () => {
    const stage = await openStage();
    const id = await leaveOne(stage);
    await stage.damage(id);
    expect(await stage.writes.list()).toMatchObject([{ id, state: null, isDamaged: true }]);
    const content = await stage.writes.readContent(id);
    expect(content && [text(content.verified), text(content.tail)]).toEqual(['', 'one\n']);
    await expect(stage.writes.open(id)).rejects.toMatchObject({ code: 'STAGING_DAMAGED' });
    await expect(stage.writes.resume(id, writeLimits)).rejects.toMatchObject({ code: 'STAGING_DAMAGED' });
    await (await beginOne(stage)).remove();
    await stage.writes.remove(id);
    expect(await stage.writes.list()).toEqual([]);
  });

  test('a session without its content still reports how it has ended', async () => {
    const stage = await openStage();
    const id = await leaveOne(stage);
    const staged = await stage.writes.open(id);
    await staged?.save(bytes(''), { ...received(stage, 4), phase: 'committed' });
    await staged?.dropContent();
    expect(text((await staged?.read()) ?? bytes('x'))).toBe('');
    await staged?.close();
    expect(await stage.writes.find(id)).toMatchObject({
      state: { phase: 'committed', size: 4 },
      tailBytes: 0,
      isDamaged: false,
    });
    const again = await stage.writes.open(id);
    expect(again?.state).toMatchObject({ phase: 'committed', size: 4 });
    await again?.remove();
    expect(await stage.writes.list()).toEqual([]);
  });
});
