import { expect } from 'vitest';
import type { Project } from '../../../src/ports/project.ts';
import { beginSession, entryIdsOf, randomFrom, settle, sharedRefsOf, takeStep } from '../../faults/sync.ts';
import { makeClone, makeRemote } from './clones.ts';
import { slowTest } from '../../support/slow-test.ts';

const steps = 24;

/** For more of them on real git, run `npm run test:faults`. */
slowTest.each([1])('three clones with random actions end with the same refs and every entry, seed %i', async (seed) => {
  const random = randomFrom(seed);
  const origin = await makeRemote();
  const clones = await Promise.all(['a', 'b', 'c'].map((letter) => makeClone(origin, letter)));
  await beginSession(clones[0] as Project);
  await settle(clones, random);
  const made = new Set<string>();
  for (let step = 0; step < steps; step += 1) {
    await takeStep(clones, random);
    for (const clone of clones) for (const id of await entryIdsOf(clone)) made.add(id);
  }
  await settle(clones, random);
  const there = await sharedRefsOf(origin);
  expect(made.size).toBeGreaterThan(5);
  for (const clone of clones) {
    expect(await sharedRefsOf(clone.repository)).toEqual(there);
    const ids = await entryIdsOf(clone);
    expect([...made].filter((id) => !ids.has(id))).toEqual([]);
  }
});
