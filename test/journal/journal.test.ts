/** The journal on a real disk: private, complete, and a dead process's operation is settled once. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { seal } from '../../src/disk/sealed-json.ts';
import { journalIn, type JournalOptions } from '../../src/journal/journal.ts';
import type { OperationKind } from '../../src/ports/journal.ts';
import { bytes } from '../support/disk.ts';

interface Facts {
  name: string;
  files: Map<string, Uint8Array>;
  group: number | null;
}

const kind: OperationKind<Facts> = { name: 'move', title: 'a move' };
const facts: Facts = { name: 'ümlaut', files: new Map([['a', bytes('\u0000x')]]), group: null };
let root: string;
let dir: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'teddy-journal-'));
  dir = join(root, 'teddy', 'journal');
});
afterEach(() => rm(root, { recursive: true }));

const journal = (alive: number[] = [], options: Partial<JournalOptions> = {}) =>
  journalIn({ dir, waitMs: 20, bootId: async () => 'boot-1', isAlive: async (pid) => alive.includes(pid), ...options });
const open = (one = facts) => journal().open(kind, one);
const path = async () => join(dir, (await readdir(dir))[0] ?? '');

/** Makes the only note another process's. */
async function giveTo(pid: number, change: object = {}): Promise<void> {
  const { check: _, ...rest } = JSON.parse(await readFile(await path(), 'utf8')) as Record<string, unknown>;
  await writeFile(await path(), JSON.stringify(seal({ ...rest, pid, nonce: 'f'.repeat(32), ...change })));
}

describe('an operation', () => {
  test('returns its notes after a crash, byte for byte', async () => {
    await (await open()).note({ group: 4711 });
    await giveTo(1);
    const [found, ...more] = await journal().left(kind);
    expect(more).toEqual([]);
    expect(found?.path).toBe(await path());
    expect(found?.facts).toMatchObject({ name: 'ümlaut', group: 4711 });
    expect(Buffer.from(found?.facts?.files.get('a') ?? []).toString()).toBe('\u0000x');
  });

  test('is readable only by its user', async () => {
    await (await open()).note({ group: 1 });
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    expect((await stat(await path())).mode & 0o777).toBe(0o600);
  });

  test('is found by no one while its process works on it, and leaves nothing when that is done', async () => {
    const operation = await open();
    expect(await journal().left(kind)).toEqual([]);
    await giveTo(process.ppid);
    expect(await journal([process.ppid]).left(kind)).toEqual([]);
    await operation.done();
    expect(await readdir(dir)).toEqual([]);
  });

  test('that is abandoned is free immediately, to this process and to others', async () => {
    await (await open()).leave();
    expect(await journal([process.pid]).left(kind)).toHaveLength(1);
    expect(await readFile(await path(), 'utf8')).toContain('"pid":0,');
  });

  test('whose directory somebody has removed is completed all the same', async () => {
    const operation = await open();
    await rm(dir, { recursive: true });
    await operation.done();
  });

  test('is found only by its own kind', async () => {
    await (await open()).leave();
    expect(await journal().left({ name: 'mov', title: 'another' })).toEqual([]);
  });

  test('that cannot be recorded is an error, and leaves nothing', async () => {
    await writeFile(join(root, 'teddy'), 'in the way');
    await expect(open()).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      message: expect.stringMatching(/^The note about a move could not be written: /) as string,
    });
    await expect(journal().left(kind)).rejects.toMatchObject({ code: 'WRITE_FAILED' });
  });
});

describe('a dead process’s operation', () => {
  test('is found again if its taker did not settle it, and is removed otherwise', async () => {
    await (await open()).note({ group: 12 });
    await giveTo(1);
    const [found] = await journal().left(kind);
    await (await found?.take())?.leave();
    const [again] = await journal().left(kind);
    expect(again?.facts).toMatchObject({ name: 'ümlaut', group: 12 });
    await (await again?.take())?.done();
    expect(await readdir(dir)).toEqual([]);
    expect(await found?.take()).toBeNull();
  });

  test('is settled by one of many', async () => {
    await (await open()).leave();
    const all = await Promise.all(Array.from({ length: 8 }, () => journal().left(kind)));
    const taken = await Promise.allSettled(all.map(([one]) => one?.take()));
    const held = taken.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
    expect(held).toHaveLength(1);
    for (const one of taken) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'LOCKED' });
    await held[0]?.done();
    expect(await readdir(dir)).toEqual([]);
  });

  test('is waited for while another process settles it', async () => {
    await (await open()).leave();
    await giveTo(process.ppid, { isSettling: true });
    const [found] = await journal([process.ppid]).left(kind);
    await expect(found?.take()).rejects.toMatchObject({
      code: 'LOCKED',
      message: `Process ${process.ppid} is repairing a move that was interrupted.`,
    });
    expect(await (await journal().left(kind))[0]?.take()).not.toBeNull();
  });

  test.each(['claim-succeeds', 'claim-replaced'])('stays intact if its taker is killed at %s', async (step) => {
    await (await open()).leave();
    const killed = journal([], {
      onStep: (name) => {
        if (name === step) throw new Error('killed');
      },
    });
    const [found] = await killed.left(kind);
    await expect(found?.take()).rejects.toThrow('killed');
    const [again] = await journal().left(kind);
    expect(again?.facts?.name).toBe('ümlaut');
    await (await again?.take())?.done();
    expect(await readdir(dir)).toEqual([]);
  });

  test.each([
    ['cut', (text: string) => text.slice(0, -9)],
    ['changed', (text: string) => text.replace('ümlaut', 'umlaut')],
    ['without its seal', (text: string) => text.replace(/,"check":"[0-9a-f]+"/, '')],
    ['empty', () => ''],
  ])('that is %s is damaged, and has no contents', async (_, damage) => {
    await (await open()).leave();
    await writeFile(await path(), damage(await readFile(await path(), 'utf8')));
    expect(await journal().left(kind)).toMatchObject([{ facts: null }]);
    expect(await readdir(dir)).toHaveLength(1);
  });

  test('from a later version has no contents', async () => {
    await (await open()).leave();
    await giveTo(0, { version: 2 });
    expect(await journal().left(kind)).toMatchObject([{ facts: null }]);
  });

  test('from before it was recorded is empty and removed; a running process’s new one stays', async () => {
    await (await open()).done();
    const names = [`move-0123456789abcdef.json.new-1-${'a'.repeat(32)}`, 'move-0123456789abcdef.json.tmp'];
    const living = `move-fedcba9876543210.json.new-${process.ppid}-${'b'.repeat(32)}`;
    for (const name of [...names, living]) await writeFile(join(dir, name), '{');
    expect(await journal([process.ppid]).look(kind)).toEqual([]);
    expect(await readdir(dir)).toHaveLength(3);
    expect(await journal([process.ppid]).left(kind)).toEqual([]);
    expect(await readdir(dir)).toEqual([living]);
  });
});
