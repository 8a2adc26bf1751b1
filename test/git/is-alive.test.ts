/** Which process a record on disk belongs to: pids are reused. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive, readBootId, readStartTime } from '../../src/disk/process-identity.ts';

let other: ChildProcess;

beforeEach(async () => {
  other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  await once(other, 'spawn');
});
afterEach(async () => {
  other.stdin?.end();
  if (other.exitCode === null && other.signalCode === null) await once(other, 'exit');
});

const pidOf = ({ pid }: ChildProcess) => pid ?? 0;

test('a living process counts as alive only since this boot of the machine', async () => {
  expect(await isAlive(pidOf(other), await readBootId())).toBe(true);
  expect(await isAlive(pidOf(other), 'another start')).toBe(false);
});

test('a process that has ended is not alive', async () => {
  other.kill('SIGKILL');
  await once(other, 'exit');
  expect(await isAlive(pidOf(other), await readBootId())).toBe(false);
});

// Only Linux records it there.
test.runIf(existsSync('/proc/self/stat'))('a living process is not the one that had its pid before', async () => {
  const stat = await readFile(`/proc/${pidOf(other)}/stat`, 'utf8');
  // Field 22, counted from the third: the name before it may contain spaces.
  const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[22 - 3] ?? '';
  expect(startTime).toMatch(/^\d+$/);
  const bootId = await readBootId();
  expect(await isAlive(pidOf(other), bootId, startTime)).toBe(true);
  expect(await isAlive(pidOf(other), bootId, `${Number(startTime) - 1}`)).toBe(false);
  expect(await isAlive(pidOf(other), bootId, null)).toBe(true);
  expect(Number(await readStartTime())).toBeLessThanOrEqual(Number(startTime));
});
