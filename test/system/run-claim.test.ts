/** One process at a time executes a turn. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive, readBootId } from '../../src/disk/process-identity.ts';
import { mainLineRef, type RefName, type SessionId, type TurnName } from '../../src/names.ts';
import { claimRun } from '../../src/system/runs/run-journal.ts';

const session = '20260124-add-user-auth' as SessionId;
const turn = '01' as TurnName;
const ref = mainLineRef(session);
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-claim-'));
});
afterEach(() => rm(dir, { recursive: true }));

const path = () => join(dir, 'teddy/runs', `${session}-${turn}.json`);
const claimOn = (place: { turn: TurnName; ref: RefName }) =>
  claimRun(join(dir, 'teddy/runs'), { session, ...place }, { bootId: readBootId, isAlive });
const claim = () => claimOn({ turn, ref });

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
  await expect(claimOn({ turn, ref: 'refs/heads/try-again' as RefName })).resolves.toBeDefined();
});

test('another turn is not refused', async () => {
  await claimOf({ pid: process.ppid, bootId: await readBootId() });
  await expect(claimOn({ turn: '02' as TurnName, ref })).resolves.toBeDefined();
});

test.each([
  ['by a process from before a restart', { pid: 1, bootId: 'another' }],
  ['that is damaged', {}],
])('a claim %s is taken over', async (_, holder) => {
  await claimOf(holder);
  const taken = await claim();
  await taken.release();
  expect(await readdir(join(dir, 'teddy/runs'))).toEqual([]);
});

test('a turn that this very process executes is refused to it as well, until it is done', async () => {
  const [one, two] = await Promise.allSettled([claim(), claim()]);
  const outcomes = [one, two].toSorted((a, b) => a.status.localeCompare(b.status));
  expect(outcomes).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'LOCKED' } }]);
  await expect(claim()).rejects.toMatchObject({
    message: `Turn 01 of ${session} is being executed by this process.`,
  });
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.release();
  await (await claim()).release();
});

test('leftovers of a process that was killed while claiming are removed by the next claim', async () => {
  await (await claim()).release();
  const living = `${session}-${turn}.json.new-${process.ppid}-${'a'.repeat(32)}`;
  const left = [
    `${session}-${turn}.json.new-999999-${'b'.repeat(32)}`,
    `${session}-${turn}.json.after-${'c'.repeat(32)}`,
  ];
  for (const name of [living, ...left]) await writeFile(join(dir, 'teddy/runs', name), '{}');
  await (await claim()).release();
  expect(await readdir(join(dir, 'teddy/runs'))).toEqual([living]);
});
