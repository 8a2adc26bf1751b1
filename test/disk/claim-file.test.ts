/** A lock file: one holder, whoever else died in the middle of taking it. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { claimFile, findHolder, waitForClaim, type Claim, type ClaimOptions } from '../../src/disk/claim-file.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

let dir: string;
let path: string;
let living: Set<number>;
let options: ClaimOptions;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-claim-'));
  path = join(dir, 'slot.claim');
  living = new Set();
  options = { bootId: async () => 'boot-1', isAlive: async (pid, bootId) => bootId === 'boot-1' && living.has(pid) };
});
afterEach(() => rm(dir, { recursive: true }));

const newNonce = () => randomBytes(16).toString('hex');

async function plant(at: string, pid: number, nonce = newNonce()): Promise<string> {
  await writeFile(at, JSON.stringify({ pid, bootId: 'boot-1', nonce }));
  return nonce;
}

async function take(): Promise<Claim> {
  const claim = await claimFile(path, options);
  if (!('release' in claim)) throw new Error(`It is held by ${claim.heldBy}.`);
  return claim;
}

test('a claim is held once within a process, and is removed without a trace when it is released', async () => {
  const claim = await take();
  expect(await readdir(dir)).toEqual(['slot.claim']);
  expect(await claimFile(path, options)).toEqual({ heldBy: process.pid });
  await claim.release();
  expect(await readdir(dir)).toEqual([]);
  await (await take()).release();
});

test('files that the system refused to remove during the claim are removed with its release', async () => {
  const claim = await take();
  const { pid, nonce } = JSON.parse(await readFile(path, 'utf8')) as { pid: number; nonce: string };
  await plant(`${path}.new-${pid}-${nonce}`, pid, nonce);
  await claim.release();
  expect(await readdir(dir)).toEqual([]);
});

slowTest('exactly one of many simultaneous attempts in a process gets the claim, even after a dead one’s', async () => {
  for (let round = 0; round < 20; round += 1) {
    if (round % 2 === 1) await plant(path, 42);
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimFile(path, options)));
    const winners = claims.filter((claim) => 'release' in claim);
    expect(winners).toHaveLength(1);
    expect(await readdir(dir)).toEqual(['slot.claim']);
    await winners[0]?.release();
    expect(await readdir(dir)).toEqual([]);
  }
});

test('a living process keeps its claim only if it is the one that took it, not another with its pid', async () => {
  const startedAt = new Map([[42, '200']]);
  const started: ClaimOptions = {
    bootId: async () => 'boot-1',
    startTime: async () => '100',
    isAlive: async (pid, _, startTime) => startTime === null || startedAt.get(pid) === startTime,
  };
  const leave = (facts: object) =>
    writeFile(path, JSON.stringify({ pid: 42, bootId: 'boot-1', nonce: newNonce(), ...facts }));
  await leave({ startTime: '200' });
  expect(await claimFile(path, started)).toEqual({ heldBy: 42 });
  expect(await findHolder(path, started)).toBe(42);
  // An older version did not record it.
  await leave({});
  expect(await claimFile(path, started)).toEqual({ heldBy: 42 });
  await leave({ startTime: '199' });
  expect(await findHolder(path, started)).toBeNull();
  const claim = await claimFile(path, started);
  expect(claim).toHaveProperty('release');
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ pid: process.pid, startTime: '100' });
  expect(await findHolder(path, started)).toBe(process.pid);
});

test('a living process keeps its claim, and a waiting one gets it after the release', async () => {
  living.add(42);
  await plant(path, 42);
  const before = await readFile(path);
  expect(await waitForClaim(path, 60, options)).toEqual({ heldBy: 42 });
  expect(await readFile(path)).toEqual(before);
  const waiting = waitForClaim(path, 5000, options);
  setTimeout(() => void rm(path), 50);
  const claim = await waiting;
  expect(claim).toHaveProperty('release');
  await (claim as Claim).release();
});

test('a claim under our pid that this process does not recognize is a dead one’s', async () => {
  living.add(process.pid);
  await plant(path, process.pid);
  await (await take()).release();
});

test.each([
  ['empty', ''],
  ['cut off', '{"pid":42,"bootId":"boot-1","non'],
  ['for a process without a number', '{"bootId":"boot-1"}'],
  ['for the process group', '{"pid":0,"bootId":"boot-1"}'],
])('a claim that is %s belongs to no one', async (_, text) => {
  living = new Set([0, 42]);
  await writeFile(path, text);
  await (await take()).release();
  expect(await readdir(dir)).toEqual([]);
});

test('an invalid nonce never becomes part of a path', async () => {
  await plant(path, 42, '/../../outside');
  await (await take()).release();
  expect(await readdir(dir)).toEqual([]);
});

test('the next successor follows the last of several that died in the middle of taking a claim', async () => {
  const first = await plant(path, 42);
  const second = await plant(`${path}.after-${first}`, 43);
  const third = await plant(`${path}.after-${second}`, 44);
  living.add(44);
  expect(await claimFile(path, options)).toEqual({ heldBy: 44 });
  living.clear();
  const claim = await take();
  expect(await readdir(dir)).toEqual(['slot.claim']);
  expect(await readFile(path, 'utf8')).not.toContain(third);
  await claim.release();
});

test('a latecomer to the succession of a claim that has changed since does not get it', async () => {
  await plant(path, 42);
  let isFirst = true;
  let late: Claim | { heldBy: number } | null = null;
  const racing: ClaimOptions = {
    ...options,
    async isAlive(pid) {
      // Between the latecomer's read and its action, another process comes and takes all of it.
      if (isFirst && pid === 42) {
        isFirst = false;
        late = await claimFile(path, options);
      }
      return living.has(pid);
    },
  };
  expect(await claimFile(path, racing)).toEqual({ heldBy: process.pid });
  expect(late).toHaveProperty('release');
  expect(await readdir(dir)).toEqual(['slot.claim']);
  await (late as unknown as Claim).release();
});

test('a process that was taken for dead removes nobody else’s claim when it releases its own', async () => {
  const claim = await take();
  const nonce = await plant(path, 42);
  await claim.release();
  expect(await readFile(path, 'utf8')).toContain(nonce);
});

test('a takeover that fails in the middle can be retried', async () => {
  await plant(path, 42);
  const failing = {
    ...options,
    onStep: () => {
      throw new Error('made to fail');
    },
  };
  await expect(claimFile(path, failing)).rejects.toThrow('made to fail');
  await (await take()).release();
  expect(await readdir(dir)).toEqual([]);
});
