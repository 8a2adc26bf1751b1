/** One process at a time executes a turn. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readBootId } from '../../src/git/index-lock.ts';
import { claimRun } from '../../src/git/run-claim.ts';
import { mainLineRef, type RefName, type SessionId, type TurnName } from '../../src/session/names.ts';

const session = '20260124-add-user-auth' as SessionId;
const turn = '01' as TurnName;
const ref = mainLineRef(session);
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-claim-'));
});
afterEach(() => rm(dir, { recursive: true }));

const path = () => join(dir, 'teddy/runs', `${session}-${turn}.json`);
const claim = () => claimRun(dir, { session, turn, ref });

async function claimOf(holder: object): Promise<void> {
  await (await claim()).release();
  await writeFile(path(), JSON.stringify(holder));
}

test('a claim leaves nothing behind when it is released', async () => {
  const taken = await claim();
  await taken.release();
  expect(await readdir(join(dir, 'teddy/runs'))).toEqual([]);
});

test('a turn that a living process executes is refused, and its claim stays', async () => {
  await claimOf({ pid: process.ppid, bootId: await readBootId() });
  await expect(claim()).rejects.toMatchObject({ code: 'LOCKED' });
  expect(await readdir(join(dir, 'teddy/runs'))).toEqual([`${session}-${turn}.json`]);
});

test('the turn of the same name on another line is not refused', async () => {
  await claimOf({ pid: process.ppid, bootId: await readBootId() });
  await expect(claimRun(dir, { session, turn, ref: 'refs/heads/try-again' as RefName })).resolves.toBeDefined();
});

test('another turn is not refused', async () => {
  await claimOf({ pid: process.ppid, bootId: await readBootId() });
  await expect(claimRun(dir, { session, turn: '02' as TurnName, ref })).resolves.toBeDefined();
});

test.each([
  ['of a process of an earlier start of the machine', { pid: 1, bootId: 'another' }],
  ['that is damaged', {}],
])('a claim %s is taken over', async (_, holder) => {
  await claimOf(holder);
  const taken = await claim();
  await taken.release();
  expect(await readdir(join(dir, 'teddy/runs'))).toEqual([]);
});

test('what a process left that was killed while it took a claim is removed by the next claim', async () => {
  await (await claim()).release();
  const left = ['claim-999999', `${session}-${turn}.json.dead-999999`];
  for (const name of left) await writeFile(join(dir, 'teddy/runs', name), '{}');
  await writeFile(join(dir, 'teddy/runs', `claim-${process.ppid}`), '{}');
  await (await claim()).release();
  expect(await readdir(join(dir, 'teddy/runs'))).toEqual([`claim-${process.ppid}`]);
});
