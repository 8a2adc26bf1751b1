import { afterAll, beforeAll, expect, test } from 'vitest';
import { openClaimStage, raceForClaims, raceForSlot, type ClaimStage } from './claims.ts';

let stage: ClaimStage;
beforeAll(async () => void (stage = await openClaimStage()));
afterAll(() => stage.close());

const slotRounds = 200;
const claimRounds = 1000;

test('exactly one of two processes that begin a write session simultaneously succeeds, each time', async () => {
  const racers = stage.startRacers(2);
  const rounds = await raceForSlot(stage, racers, slotRounds);
  await Promise.all(racers.map((racer) => racer.end()));
  const right = rounds.filter((answers) => answers.join() === 'WRITE_ACTIVE,begun,1 there');
  console.log(`faults: 2 processes begin at once: ${rounds.length} rounds, ${right.length} with one winner`);
  expect(right).toHaveLength(slotRounds);
});

test('exactly one of eight processes gets a dead one’s claim, each time', async () => {
  const racers = stage.startRacers(8);
  const rounds = await raceForClaims(stage, racers, claimRounds);
  await Promise.all(racers.map((racer) => racer.end()));
  const wanted = [...Array.from({ length: 7 }, () => 'held'), 'taken', 'slot.claim'].join();
  const right = rounds.filter((answers) => answers.join() === wanted);
  console.log(`faults: 8 processes take over from dead ones: ${rounds.length} rounds, ${right.length} with one holder`);
  expect(right).toHaveLength(claimRounds);
});
