/** A run's journal on a real disk: in order, private, and complete up to where a crash has cut it. */
import {
  appendFile,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { BeginRecord, EndRecord, JournalRecord, RunRecord } from '../../src/plan/report/journal.ts';
import type { RunDirs } from '../../src/ports/git.ts';
import { mainLineRef, type RefName, type SessionId, type TurnName } from '../../src/names.ts';
import { runJournals } from '../../src/system/runs/run-journal.ts';
import { bytes } from '../support/disk.ts';

const session = '20260124-add-login' as SessionId;
const place: RunDirs = { session, turn: '01' as TurnName, ref: mainLineRef(session) };
let root: string;
let dir: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'teddy-journal-')));
  dir = join(root, 'teddy');
});
afterEach(() => rm(root, { recursive: true }));

const journals = (onStep?: (step: string) => void) =>
  runJournals({ dir, onStep, bootId: async () => 'boot-1', isAlive: async () => false });
const at = (name: string) => join(dir, 'runs', `${session}-01`, name);
const record: RunRecord = {
  record: 'run',
  version: 1,
  ...place,
  root: '/project',
  chosen: [1, 2],
  rollback: false,
  startedAt: '2026-01-24T10:00:00.000Z',
  memos: { added: [], removed: [], rejected: [] },
};
const begin = (action: number): BeginRecord => ({
  record: 'begin',
  action,
  actionType: 'PROMPT',
  target: 'ünï',
  startedAt: '2026-01-24T10:00:01.000Z',
  before: { kind: 'none' },
});
const end = (index: number): EndRecord => ({
  record: 'end',
  log: { index, action_type: 'PROMPT', status: 'SUCCESS', params: {} },
  ended: 'done',
  changed: [],
  strays: [],
});

async function readRecords(): Promise<JournalRecord[]> {
  const rows = (await readFile(at('journal.jsonl'), 'utf8')).split('\n').slice(0, -1);
  return rows.map((row) => JSON.parse(row) as JournalRecord);
}

describe('a journal', () => {
  test('makes nothing before its first action begins, and is private then', async () => {
    const journal = journals().begin(place);
    await journal.note(record);
    expect(await readdir(root)).toEqual([]);
    await journal.append(begin(1));
    await journal.note(end(1));
    expect(await readRecords()).toEqual([record, begin(1), end(1)]);
    for (const name of ['journal.jsonl', 'kept']) expect((await lstat(at(name))).mode & 0o777).toBe(0o600);
    await journal.close();
  });

  test('is found again with all its records, and continued', async () => {
    const first = journals().begin(place);
    await first.note(record);
    const keys = [await first.keep(bytes('one')), await first.keep(bytes('')), await first.keep(bytes('zwei ü'))];
    await first.append(begin(1));
    await first.close();
    const found = await journals().find(place);
    expect(found).toMatchObject({ run: record, begun: [begin(1)], interrupted: begin(1), isRollingBack: false });
    const texts = await Promise.all(
      keys.map(async (key) => Buffer.from((await found?.journal.read(key)) ?? []).toString()),
    );
    expect(texts).toEqual(['one', '', 'zwei ü']);
    await found?.journal.note(end(1));
    const key = (await found?.journal.keep(bytes('more'))) ?? '';
    await found?.journal.append(begin(2));
    expect(await readRecords()).toEqual([record, begin(1), end(1), begin(2)]);
    expect(Buffer.from((await found?.journal.read(key)) ?? []).toString()).toBe('more');
    expect(Buffer.from((await found?.journal.read(keys[0] ?? '')) ?? []).toString()).toBe('one');
    await found?.journal.close();
  });

  test('that a crash has cut within a record continues after the last complete one', async () => {
    const first = journals().begin(place);
    await first.note(record);
    await first.append(begin(1));
    await first.close();
    await appendFile(at('journal.jsonl'), JSON.stringify(end(1)).slice(0, -5));
    const found = await journals().find(place);
    expect(found?.interrupted).toEqual(begin(1));
    await found?.journal.append({ record: 'rollback' });
    expect(await readRecords()).toEqual([record, begin(1), { record: 'rollback' }]);
    await found?.journal.close();
  });

  test('without a complete first record does not count, and the next run starts over', async () => {
    const first = journals().begin(place);
    await first.keep(bytes('of the run before'));
    await first.close();
    await writeFile(at('journal.jsonl'), '{"record":"ru');
    expect(await journals().find(place)).toBeNull();
    const second = journals().begin(place);
    await second.note(record);
    await second.append(begin(1));
    expect(await readRecords()).toEqual([record, begin(1)]);
    expect(await readFile(at('kept'), 'utf8')).toBe('');
    await second.close();
  });

  test('that a crash has cut within its first action’s record does not count: nothing has begun', async () => {
    const journal = journals().begin(place);
    await journal.note(record);
    await journal.note(end(1));
    await journal.append(begin(2));
    await journal.close();
    await truncate(at('journal.jsonl'), (await lstat(at('journal.jsonl'))).size - 3);
    expect(await journals().find(place)).toBeNull();
    expect(await journals().list()).toMatchObject([place]);
  });

  test('has the bytes that it keeps on disk before a record that names them', async () => {
    const handle = await open(join(root, 'file'), 'w');
    const calls: string[] = [];
    const prototype = Object.getPrototypeOf(handle) as typeof handle;
    await handle.close();
    const write = vi.spyOn(prototype, 'write');
    const datasync = vi.spyOn(prototype, 'datasync');
    const journal = journals().begin(place);
    await journal.note(record);
    await journal.keep(bytes('kept'));
    const [kept] = write.mock.contexts;
    const name = (context: unknown) => (context === kept ? 'kept' : 'log');
    write.mockImplementationOnce(function (this: typeof handle, ...args: unknown[]) {
      calls.push(`write ${name(this)}`);
      return Reflect.apply(prototype.write, this, args) as never;
    } as never);
    datasync.mockImplementation(async function (this: unknown) {
      calls.push(`sync ${name(this)}`);
    });
    await journal.append(begin(1));
    await journal.append(begin(2));
    vi.restoreAllMocks();
    expect(calls).toEqual(['sync kept', 'write log', 'sync log', 'sync log']);
    await journal.close();
  });

  test('that cannot be removed is an internal error: the report exists by then', async () => {
    const journal = journals().begin(place);
    await journal.append(record);
    await rename(join(dir, 'runs'), join(dir, 'elsewhere'));
    await symlink('runs', join(dir, 'runs'));
    await expect(journal.discard()).rejects.toMatchObject({ code: 'WRITE_FAILED' });
  });

  test('is removed when it is discarded, and discarding twice does no harm', async () => {
    const journal = journals().begin(place);
    await journal.note(record);
    await journal.append(begin(1));
    await journal.discard();
    await journal.discard();
    expect(await readdir(join(dir, 'runs'))).toEqual([]);
    expect(await journals().find(place)).toBeNull();
  });

  test('that was being discarded when the process was killed is removed by the next look', async () => {
    await mkdir(join(dir, 'runs', 'discarded-0123456789abcdef'), { recursive: true });
    await writeFile(join(dir, 'runs', 'discarded-0123456789abcdef', 'kept'), 'k');
    expect(await journals().list()).toEqual([]);
    expect(await readdir(join(dir, 'runs'))).toEqual([]);
  });

  test('whose copies are cut off or missing reports it, and names the file', async () => {
    const journal = journals().begin(place);
    const key = await journal.keep(bytes('one'));
    await journal.close();
    await truncate(at('kept'), 2);
    const damaged = { code: 'DAMAGED_SESSION', message: expect.stringContaining(at('kept')) };
    await expect(journal.read(key)).rejects.toMatchObject(damaged);
    await rm(at('kept'));
    await expect(journal.read(key)).rejects.toMatchObject(damaged);
  });

  test('that cannot be made loses no record: records are written, in order, as soon as possible', async () => {
    await writeFile(dir, 'a file where a directory has to be');
    const journal = journals().begin(place);
    await journal.note(record);
    const failed = { code: 'WRITE_FAILED', message: expect.stringContaining("The run's journal") };
    await expect(journal.append(begin(1))).rejects.toMatchObject(failed);
    await expect(journal.keep(bytes('x'))).rejects.toMatchObject(failed);
    await journal.note(end(1));
    await rm(dir);
    await journal.append(begin(2));
    expect(await readRecords()).toEqual([record, begin(1), end(1), begin(2)]);
    await journal.close();
  });

  test('has its first record on disk before an action may begin', async () => {
    const seen: string[] = [];
    const journal = journals((step) => seen.push(step)).begin(place);
    await journal.note(record);
    await journal.append(begin(1));
    await journal.note(end(1));
    await journal.discard();
    expect(seen).toEqual(['journal', 'journaled', 'journal-discarded']);
  });
});

test('the list has every run by its place, skips unreadable ones, and makes nothing', async () => {
  expect(await journals().list()).toEqual([]);
  expect(await readdir(root)).toEqual([]);
  const other: RunDirs = { ...place, turn: '02' as TurnName, ref: 'refs/heads/try/again' as RefName };
  for (const one of [place, other]) {
    const journal = journals().begin(one);
    await journal.note({ ...record, ...one });
    await journal.append(begin(1));
    await journal.close();
  }
  const damaged = journals().begin({ ...place, turn: '03' as TurnName });
  await damaged.keep(bytes('x'));
  await damaged.close();
  await writeFile(join(dir, 'runs', `${session}-03`, 'journal.jsonl'), 'PK\n');
  await writeFile(join(dir, 'runs', `${session}-01.json`), '{}');
  const found = await journals().list();
  expect(found.map(({ turn, ref }) => `${turn} ${ref}`).toSorted()).toEqual([`01 ${place.ref}`, `02 ${other.ref}`]);
  await expect(journals().find({ ...place, turn: '03' as TurnName })).rejects.toMatchObject({
    code: 'DAMAGED_SESSION',
  });
});
