/**
 * Every file system call by the journal, each killed, and each failing: acknowledged data is never lost, and no
 * leftovers stay.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Journal, Operation, OperationKind } from '../../src/ports/journal.ts';

/** `kill`: neither that call nor a later one has any effect. */
type Fault = 'kill' | 'ENOSPC' | 'EIO' | 'EMFILE' | 'EACCES';

const scene = vi.hoisted(() => ({ fault: null as { at: number; how: string } | null, calls: 0 }));

vi.mock('node:fs/promises', () => import('../faults/faulty-fs.ts'));
vi.mock('../faults/fault-points.ts', () => ({
  passCall(name: string): string | null {
    // Closing a file changes nothing, and a look at processes is not a call by the journal.
    if (scene.fault === null || name.startsWith('close ') || name.endsWith('boot id')) return null;
    scene.calls += 1;
    if (scene.fault.how === 'kill' && scene.calls >= scene.fault.at) throw new Error('killed');
    return scene.calls === scene.fault.at ? scene.fault.how : null;
  },
}));

interface Facts {
  value: number;
}

const kind: OperationKind<Facts> = { name: 'move', title: 'a move' };
const faults: Fault[] = ['kill', 'ENOSPC', 'EIO', 'EMFILE', 'EACCES'];
const toBytes = (text: string) => new TextEncoder().encode(text);
let root: string;
let dir: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'teddy-journal-'));
  dir = join(root, 'teddy', 'journal');
});
afterEach(() => rm(root, { recursive: true }));

/** A separate process, without memory of earlier operations. */
async function startProcess(): Promise<Journal> {
  vi.resetModules();
  const { journalIn } = await import('../../src/journal/journal.ts');
  return journalIn({
    dir,
    waitMs: 0,
    bootId: async () => 'boot-1',
    isAlive: async () => false,
    startTime: async () => null,
  });
}

/** The value and the staged text that were acknowledged. */
type Acknowledged = [value: number, text: string] | 'nothing' | 'done';

const script: [(operation: Operation<Facts>) => Promise<void>, Acknowledged][] = [
  [(operation) => operation.stage(toBytes('one')), [0, 'one']],
  [(operation) => operation.note({ value: 1 }), [1, 'one']],
  [(operation) => operation.stage(toBytes('two')), [1, 'onetwo']],
  [(operation) => operation.done(), 'done'],
];
const states: Acknowledged[] = ['nothing', [0, ''], ...script.map(([, state]) => state)];

/** Repeats it if it has failed: every failure is one of the disk, and is reported as one. */
async function insist<Value>(how: Fault, act: () => Promise<Value>): Promise<Value> {
  return act().catch((error: unknown) => {
    if (how === 'kill') throw error;
    expect(error).toMatchObject({ code: how === 'ENOSPC' ? 'DISK_FULL' : 'WRITE_FAILED' });
    return act();
  });
}

/** Returns the last acknowledged state. */
async function operate(journal: Journal, how: Fault): Promise<Acknowledged> {
  let reached: Acknowledged = 'nothing';
  try {
    const operation = await insist(how, () => journal.open(kind, { value: 0 }));
    reached = [0, ''];
    for (const [act, state] of script) {
      await insist(how, () => act(operation));
      reached = state;
    }
  } catch (error) {
    expect(error).toMatchObject({ message: 'killed' });
  }
  return reached;
}

async function settle(journal: Journal, how: Fault): Promise<void> {
  for (const { take } of await insist(how, () => journal.left(kind))) {
    const operation = await insist(how, take);
    if (operation === null) continue;
    await insist(how, () => operation.note({ value: 2 }));
    await insist(how, () => operation.done());
  }
}

async function withFault<Value>(at: number, how: Fault, act: () => Promise<Value>): Promise<Value> {
  Object.assign(scene, { fault: { at, how }, calls: 0 });
  return act().finally(() => (scene.fault = null));
}

async function readLeft(): Promise<Acknowledged> {
  const [left, ...more] = await (await startProcess()).look(kind);
  expect(more).toEqual([]);
  if (left === undefined) return 'nothing';
  const { verified, isDamaged } = await left.read();
  expect(isDamaged).toBe(false);
  return [left.facts?.value ?? NaN, Buffer.from(verified).toString()];
}

async function expectSettled(): Promise<void> {
  await settle(await startProcess(), 'kill');
  expect(await readdir(dir).catch(() => [])).toEqual([]);
}

test.each(faults)(
  'an operation in which any call meets %s keeps the acknowledged data, and leaves nothing',
  async (how) => {
    let cases = 0;
    for (let isOver = false; !isOver; cases += 1) {
      const journal = await startProcess();
      const reached = await withFault(cases + 1, how, () => operate(journal, how));
      isOver = scene.calls <= cases;
      const left = await readLeft();
      const at = states.findIndex((state) => String(state) === String(reached));
      const possible = how === 'kill' ? states.slice(at, at + 2) : [states[at]];
      if (left === 'nothing')
        expect(['nothing', 'done'].some((state) => possible.includes(state as Acknowledged))).toBe(true);
      else expect(possible.map(String)).toContain(String(left));
      if (how !== 'kill') expect(reached).toBe('done');
      await expectSettled();
    }
    console.log(`faults: ${how} in an operation: ${cases} cases`);
    expect(cases).toBeGreaterThan(40);
  },
);

test.each(faults)('settling an operation may meet %s at any call: the next command settles it', async (how) => {
  let cases = 0;
  for (let isOver = false; !isOver; cases += 1) {
    const journal = await startProcess();
    const operation = await journal.open(kind, { value: 1 });
    await operation.stage(toBytes('one'));
    await operation.leave();
    const settling = await startProcess();
    await withFault(cases + 1, how, () => settle(settling, how)).catch((error: unknown) =>
      expect(error).toMatchObject({ message: 'killed' }),
    );
    isOver = scene.calls <= cases;
    const left = await readLeft();
    if (left !== 'nothing') expect(['1,one', '2,one']).toContain(String(left));
    if (how !== 'kill') expect(left).toBe('nothing');
    await expectSettled();
  }
  console.log(`faults: ${how} in a settlement: ${cases} cases`);
  expect(cases).toBeGreaterThan(20);
});
