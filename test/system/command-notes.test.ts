/** Notes of commands on a real disk: private, whole, and of a dead process found once. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CommandNote, OpenCommandNote } from '../../src/ports/disk.ts';
import { mainLineRef, type Oid, type RepoPath, type SessionId, type TurnName } from '../../src/names.ts';
import { commandNotes } from '../../src/system/command-notes.ts';
import { seal } from '../../src/disk/sealed-json.ts';
import { bytes } from '../support/disk.ts';

const session = '20260124-add-login' as SessionId;
const ref = mainLineRef(session);
const note: CommandNote = {
  session,
  turn: '01' as TurnName,
  ref,
  root: '/project',
  isLinked: false,
  startedAt: '2026-01-24T10:00:00.000Z',
  kept: {
    head: { ref, oid: 'a'.repeat(40) as Oid },
    scan: new Map([['.teddy/ümlaut' as RepoPath, '.M 1']]),
    bytes: new Map([['.teddy/memos.yaml' as RepoPath, bytes('- \u0000mine\n')]]),
    config: bytes(''),
  },
};
const group = { id: 4711, startedAt: '12', mark: 'a mark' };
let root: string;
let dir: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'teddy-notes-'));
  dir = join(root, 'teddy', 'commands');
});
afterEach(() => rm(root, { recursive: true }));

const notes = (bootId = 'boot-1', alive: number[] = []) =>
  commandNotes({ dir, waitMs: 20, bootId: async () => bootId, isAlive: async (pid) => alive.includes(pid) });
const left = async (...args: Parameters<typeof notes>) => {
  const found = await notes(...args).left();
  for (const { release } of found) await release();
  return found;
};
const path = async (end: string) => join(dir, (await readdir(dir)).find((name) => name.endsWith(end)) ?? '');

/** Leaves it the way a killed process does: nobody holds it, and its pid is another's. */
async function crash(open: OpenCommandNote, pid = 1): Promise<void> {
  const text = await readFile(await path('.note'), 'utf8');
  await open.leave();
  await writeFile(await path('.note'), text);
  await writeFile(`${(await path('.note')).slice(0, -4)}claim`, JSON.stringify({ pid, bootId: 'boot-1' }));
}

function toVersion(text: string, version: number): string {
  const { check: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
  return JSON.stringify(seal({ ...rest, version }));
}

describe('a note', () => {
  test('whose claim cannot be given back says so', async () => {
    const open = await notes().begin(note);
    const claim = await path('.claim');
    await rm(claim);
    await mkdir(claim);
    await expect(open.discard()).rejects.toMatchObject({ code: 'WRITE_FAILED' });
  });

  test('says after a crash what was noted, byte for byte', async () => {
    const open = await notes().begin(note);
    open.started(group);
    await crash(open);
    const [found, ...more] = await left();
    expect(more).toEqual([]);
    expect(found?.path).toBe(await path('.note'));
    expect(found?.group).toEqual(group);
    const { kept, ...rest } = found?.note ?? note;
    const { kept: wanted, ...wantedRest } = note;
    expect(rest).toEqual(wantedRest);
    expect({ ...kept, bytes: null, config: null }).toEqual({ ...wanted, bytes: null, config: null });
    expect([...kept.bytes].map(([name, content]) => [name, Buffer.from(content).toString()])).toEqual([
      ['.teddy/memos.yaml', '- \u0000mine\n'],
    ]);
    expect(kept.config?.length).toBe(0);
  });

  test('is for its user alone', async () => {
    (await notes().begin(note)).started(group);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    for (const end of ['.note', '.group']) expect((await stat(await path(end))).mode & 0o777).toBe(0o600);
  });

  test('is found by nobody while its process has it, and leaves nothing when that is done', async () => {
    const open = await notes().begin(note);
    open.started(group);
    expect(await left()).toEqual([]);
    await open.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('is found by nobody while the process of its claim is alive', async () => {
    const open = await notes().begin(note);
    await crash(open, process.ppid);
    const text = await readFile(await path('.note'), 'utf8');
    expect(text).toContain(`"pid":${process.pid}`);
    await expect(left('boot-1', [process.ppid])).rejects.toMatchObject({
      code: 'LOCKED',
      message: `Process ${process.ppid} puts back what an interrupted command has changed.`,
    });
    expect(await left()).toHaveLength(1);
  });

  test('is found again when whoever had found it did not settle it, and is gone when they did', async () => {
    await crash(await notes().begin(note));
    const [found] = await notes().left();
    await found?.release();
    const [again] = await notes().left();
    await again?.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('of a machine that was started anew has no group: nothing of it runs', async () => {
    const open = await notes().begin(note);
    open.started(group);
    await crash(open);
    await truncate(await path('.group'), 0);
    expect((await left('boot-2'))[0]).toMatchObject({ note: { session }, group: null });
    expect((await left('boot-1'))[0]).toMatchObject({ note: null });
  });

  test.each([
    ['cut', (text: string) => text.slice(0, -9)],
    ['changed', (text: string) => text.replace('/project', '/projekt')],
    ['without its seal', (text: string) => text.replace(/,"check":"[0-9a-f]+"/, '')],
    ['empty', () => ''],
    ['of a later version', (text: string) => toVersion(text, 2)],
  ])('that is %s is damaged, and says nothing', async (_, damage) => {
    await crash(await notes().begin(note));
    await writeFile(await path('.note'), damage(await readFile(await path('.note'), 'utf8')));
    expect(await left()).toMatchObject([{ note: null, group: null }]);
    expect(await readdir(dir)).toHaveLength(1);
  });

  test('that was not written yet, or is removed already, is of no command, and its files go', async () => {
    const open = await notes().begin(note);
    open.started(group);
    await crash(open);
    await rm(await path('.note'));
    await writeFile(join(dir, '0123456789abcdef.note.tmp'), '{');
    expect(await left()).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });

  test('that cannot be written is an error, and nothing is left of it', async () => {
    await writeFile(join(root, 'teddy'), 'in the way');
    await expect(notes().begin(note)).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    await expect(notes().left()).rejects.toMatchObject({ code: 'WRITE_FAILED' });
  });

  test('of the newest command comes first', async () => {
    const one = await notes().begin(note);
    await one.leave();
    const two = await notes().begin({ ...note, startedAt: '2026-01-24T11:00:00.000Z' });
    await two.leave();
    expect((await left()).map((found) => found.note?.startedAt.slice(11, 13))).toEqual(['11', '10']);
  });
});
