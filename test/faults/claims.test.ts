/** The fast part of the races for claims. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openClaimStage, raceForClaims, raceForSlot, type ClaimStage, type Racer } from './claims.ts';

let stage: ClaimStage;
const running: Racer[] = [];
beforeAll(async () => void (stage = await openClaimStage()));
afterAll(async () => {
  await Promise.all(running.map((racer) => racer.end()));
  await stage.close();
});

function start(count: number): Racer[] {
  const racers = stage.startRacers(count);
  running.push(...racers);
  return racers;
}

test('exactly one of two processes that begin a write session simultaneously succeeds', async () => {
  const rounds = await raceForSlot(stage, start(2), 20);
  expect(rounds).toEqual(Array.from({ length: 20 }, () => ['WRITE_ACTIVE', 'begun', '1 there']));
});

test('exactly one of eight processes gets a dead one’s claim, and the race leaves nothing', async () => {
  const rounds = await raceForClaims(stage, start(8), 40);
  const one = [...Array.from({ length: 7 }, () => 'held'), 'taken', 'slot.claim'];
  expect(rounds).toEqual(Array.from({ length: 40 }, () => one));
});

test('processes that are killed one after another during a takeover leave the claim to the next', async () => {
  const path = join(stage.dir, 'killed.claim');
  const kill = async (dieAt: string | undefined) => {
    const [racer] = start(1);
    return racer?.send({ job: 'claim', path, startAtMs: 0, ...(dieAt === undefined ? {} : { dieAt }) });
  };
  const [holder] = start(1);
  expect(await holder?.send({ job: 'claim', path, startAtMs: 0 })).toBe('taken');
  expect(await kill('claim-succeeds')).toBe('held');
  await holder?.end();
  for (const step of ['claim-succeeds', 'claim-succeeds', 'claim-replaced', 'claim-succeeds']) {
    expect(await kill(step)).toBe('died');
  }
  expect(await kill(undefined)).toBe('taken');
  const left = (await readdir(stage.dir)).filter((name) => name.startsWith('killed.claim'));
  expect(left).toEqual(['killed.claim']);
});

test('a process that is killed while beginning a session leaves a free slot or a complete session', async () => {
  for (const [dieAt, next] of [
    ['write-metadata', 'begun'],
    ['write-made', 'WRITE_ACTIVE'],
  ] as const) {
    const dir = join(stage.dir, dieAt);
    const [first, second] = start(2);
    expect(await first?.send({ job: 'begin', dir, id: randomUUID(), startAtMs: 0, dieAt })).toBe('died');
    expect(await second?.send({ job: 'begin', dir, id: randomUUID(), startAtMs: 0 })).toBe(next);
    const sessions = (await readdir(dir)).filter((name) => /^[0-9a-f-]{36}$/.test(name));
    expect(sessions).toHaveLength(1);
  }
});
