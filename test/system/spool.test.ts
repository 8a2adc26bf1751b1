/**
 * The spool: entries that hooks append are taken once, whoever is killed, and an unreadable line does not affect
 * others.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive, readBootId, readStartTime } from '../../src/disk/process-identity.ts';
import type { HookCall } from '../../src/ports/capture.ts';
import { spool } from '../../src/system/agents/spool.ts';

let dir: string;
let now = new Date('2026-03-01T12:00:00Z');

beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'teddy-spool-')), 'teddy', 'spool');
  now = new Date('2026-03-01T12:00:00Z');
  await opened().open();
});
afterEach(() => rm(join(dir, '../..'), { recursive: true }));

const opened = () => spool({ dir, clock: { now: () => now }, bootId: readBootId, isAlive, startTime: readStartTime });
const inSpool = (...path: string[]) => join(dir, ...path);
/** Everything except the time for the hooks. */
const listed = async () => (await readdir(dir)).filter((name) => name !== 'clock').toSorted();
const line = (at: number, payload: unknown = { n: at }) =>
  JSON.stringify({ v: 1, agent: 'codex', at, ppid: 7, payload });
const append = (text: string | Uint8Array, agent = 'codex') => appendFile(inSpool(`${agent}.jsonl`), text);
const numbers = (calls: readonly HookCall[]) => calls.map(({ at }) => at);

async function takeAll(from = opened()): Promise<HookCall[]> {
  const { calls, done } = await from.take();
  await done();
  return calls;
}

test('the spool returns the hooks’ entries in the order of time, and then no more', async () => {
  await append(`\n${line(3)}\n\n${line(1)}\n`);
  await append(`${JSON.stringify({ v: 1, agent: 'gemini', at: 2, ppid: 0, payload: null })}\n`, 'gemini');
  expect(await takeAll()).toEqual([
    { agent: 'codex', at: 1, ppid: 7, payload: { n: 1 } },
    { agent: 'gemini', at: 2, ppid: 0, payload: {} },
    { agent: 'codex', at: 3, ppid: 7, payload: { n: 3 } },
  ]);
  expect(await takeAll()).toEqual([]);
  expect(await readdir(inSpool('taken'))).toEqual([]);
});

test('the spool returns them again to the next drainer until they were processed', async () => {
  await append(`${line(1)}\n`);
  expect(numbers((await opened().take()).calls)).toEqual([1]);
  await append(`${line(2)}\n`);
  expect(numbers(await takeAll())).toEqual([1, 2]);
  expect(await takeAll()).toEqual([]);
});

test('the spool loses no other line to a line that was cut anywhere', async () => {
  const whole = Buffer.from(line(2, { text: 'Größe \\ "100 %"' }));
  for (let cut = 1; cut < whole.length; cut += 1) {
    await append(`\n${line(1)}\n`);
    await append(Buffer.concat([Buffer.from('\n'), whole.subarray(0, cut)]));
    await append(`\n${line(3)}\n`);
    const taken = await opened().take();
    expect([numbers(taken.calls), taken.unreadable]).toEqual([[1, 3], 1]);
    await taken.done();
  }
  expect((await opened().look()).unreadable).toBe(whole.length - 1);
});

test.each([
  ['NUL bytes', Buffer.concat([Buffer.alloc(9), Buffer.from(line(2))])],
  ['no JSON', 'what is this'],
  ['a later version', JSON.stringify({ v: 2, agent: 'codex', at: 2, ppid: 7, payload: {} })],
  ['no object', '[1]'],
  ['a payload that is not an object', line(2, 'text')],
])('the spool sets a line of %s aside once, unchanged, even after a crash', async (_, bad) => {
  await append(Buffer.concat([Buffer.from(bad), Buffer.from(`\n${line(3)}\n`)]));
  const taken = await opened().take();
  expect(taken.unreadable).toBe(1);
  expect((await opened().look()).unreadable).toBe(0);
  await taken.done();
  await append(Buffer.concat([Buffer.from(bad), Buffer.from('\n')]));
  expect(await takeAll()).toEqual([]);
  const [name = '', ...others] = await readdir(inSpool('unreadable'));
  expect(others).toEqual([]);
  expect(await readFile(inSpool('unreadable', name))).toEqual(Buffer.from(bad));
});

test('the spool takes a payload of 50 MB from a separate file', async () => {
  const text = 'x'.repeat(50_000_000);
  await writeFile(inSpool('codex.1-2.json'), `${line(1, { text })}\n`);
  const { calls, done } = await opened().take();
  expect(String(calls[0]?.payload['text']).length).toBe(text.length);
  await done();
  expect(await takeAll()).toEqual([]);
  expect(await listed()).toEqual(['seen']);
});

test('the spool leaves a file that a hook is writing, and sets it aside if nobody has finished it', async () => {
  await writeFile(inSpool('codex.1-2.tmp'), line(1).slice(0, 20));
  await utimes(inSpool('codex.1-2.tmp'), now, now);
  expect(await takeAll()).toEqual([]);
  expect(await listed()).toEqual(['codex.1-2.tmp']);
  now = new Date(now.getTime() + 11 * 60 * 1000);
  await takeAll();
  expect(await readdir(inSpool('unreadable'))).toEqual(['codex.1-2.tmp']);
});

test('the spool returns entries that a hook appends to the old file after it was taken', async () => {
  await append(`${line(1)}\n`);
  const hook = spawn('sh', [
    '-c',
    `exec 3>>"$1"; echo open; read -r line; printf '%s\\n' "$line" >&3`,
    'sh',
    inSpool('codex.jsonl'),
  ]);
  await once(hook.stdout, 'data');
  const drainer = opened();
  expect(numbers(await takeAll(drainer))).toEqual([1]);
  // The hook still has it open: nothing is returned twice to this drainer, and nothing is removed.
  expect(await takeAll(drainer)).toEqual([]);
  expect(await readdir(inSpool('taken'))).toHaveLength(1);
  hook.stdin.end(`${line(2)}\n`);
  await once(hook, 'close');
  expect(numbers(await takeAll(drainer))).toEqual([2]);
  expect(await readdir(inSpool('taken'))).toEqual([]);
});

test('the spool keeps entries appended during a drain for the next one', async () => {
  await append(`${line(1)}\n`);
  const drainer = opened();
  const { done } = await drainer.take();
  const [name = ''] = await readdir(inSpool('taken'));
  appendFileSync(inSpool('taken', name), `${line(2)}\n`);
  await done();
  expect(numbers(await takeAll(drainer))).toEqual([2]);
});

test('the spool takes each line once while several processes append', async () => {
  const script = `i=0; while [ $i -lt 150 ]; do i=$((i + 1)); l='\n{"v":1,"agent":"codex","at":'"$2$i"',"ppid":0,"payload":{}}\n'; printf "$l" >> "$1"; done`;
  const hooks = ['1000', '2000', '3000'].map((first) =>
    spawn('sh', ['-c', script, 'sh', inSpool('codex.jsonl'), first]),
  );
  const ended = Promise.all(hooks.map((hook) => once(hook, 'close')));
  const drainer = opened();
  const calls: HookCall[] = [];
  let isOver = false;
  void ended.then(() => (isOver = true));
  while (!isOver) calls.push(...(await takeAll(drainer)));
  calls.push(...(await takeAll(drainer)));
  expect(calls).toHaveLength(450);
  expect(new Set(numbers(calls)).size).toBe(450);
  expect((await drainer.look()).unreadable).toBe(0);
});

test('the spool is drained by one process at a time; a hook can read which one, and since when', async () => {
  const claim = await opened().claim();
  if ('heldBy' in claim) throw new Error('It is held.');
  expect(await readFile(inSpool('drainer'), 'utf8')).toBe(`${process.pid}\n${await readStartTime()}\n`);
  expect((await opened().look()).drainer).toBe(process.pid);
  expect(await opened().claim()).toEqual({ heldBy: process.pid });
  await claim.release();
  expect(await listed()).toEqual([]);
});

test('the spool passes a dead process’s claim on', async () => {
  const dead = spawn('true');
  await once(dead, 'close');
  const holder = { pid: dead.pid, bootId: await readBootId(), startTime: '1', nonce: 'a'.repeat(32) };
  await writeFile(inSpool('drainer.claim'), JSON.stringify(holder));
  await writeFile(inSpool('drainer'), `${dead.pid}\n1\n`);
  expect((await opened().look()).drainer).toBe(null);
  const claim = await opened().claim();
  expect('release' in claim).toBe(true);
  expect(await readFile(inSpool('drainer'), 'utf8')).toMatch(`${process.pid}\n`);
  if ('release' in claim) await claim.release();
});

test('the spool tells a hook when the machine was started', async () => {
  const [boot, since] = (await readFile(inSpool('clock'), 'utf8')).split('\n');
  expect(boot).toBe(await readBootId());
  const uptime = Number.parseInt(await readFile('/proc/uptime', 'utf8'), 10);
  expect(Math.abs(now.getTime() / 1000 - Number(since) - uptime)).toBeLessThanOrEqual(5);
});

test('the spool shows the waiting entries, and each agent’s last call', async () => {
  const { exists, paused, waiting } = await opened().look();
  expect({ exists, paused, waiting }).toEqual({ exists: true, paused: false, waiting: [] });
  await append(`${line(1_700_000_000)}\n`);
  const written = Math.floor((await stat(inSpool('codex.jsonl'))).mtimeMs / 1000);
  await opened().pause(true);
  const before = await opened().look();
  expect(before.waiting).toEqual([{ agent: 'codex', bytes: line(1_700_000_000).length + 1, oldest: written }]);
  expect(before.lastCalls).toEqual(new Map([['codex', written]]));
  expect(before.paused).toBe(true);
  await opened().pause(false);
  await takeAll();
  const after = await opened().look();
  expect([after.waiting, after.paused]).toEqual([[], false]);
  expect(after.lastCalls).toEqual(new Map([['codex', 1_700_000_000]]));
});

test('the spool is removed when it is empty; unprocessed entries come back', async () => {
  expect(await opened().close()).toBe(null);
  expect((await opened().look()).exists).toBe(false);
  expect(await opened().take()).toMatchObject({ calls: [], unreadable: 0 });
  await opened().open();
  await append(`${line(1)}\n`);
  expect(await opened().close()).toBe(`${dir}.kept`);
  expect((await opened().look()).exists).toBe(false);
  await opened().open();
  expect(numbers(await takeAll())).toEqual([1]);
});

test('that was closed is not brought back by a running drainer', async () => {
  await append(`${line(1)}\nbad\n`);
  const { done } = await opened().take();
  await rm(dir, { recursive: true });
  await done();
  await expect(stat(dir)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('the spool leaves other files alone', async () => {
  await mkdir(inSpool('opencode'));
  await mkdir(inSpool('gemini.jsonl'));
  const other = await open(inSpool('Notes.txt'), 'w');
  await other.close();
  expect(await takeAll()).toEqual([]);
  expect(await listed()).toEqual(['Notes.txt', 'gemini.jsonl', 'opencode']);
});
