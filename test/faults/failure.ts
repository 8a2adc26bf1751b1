/** The forms that a run may take in which the system, or git, said no. */
import { chooseCalls, everyNth, readPoints, type Job } from './sweep.ts';
import type { ChildRun } from './run-child.ts';
import type { Copies, Scene } from './scenes.ts';

const codes = ['ENOSPC', 'EIO', 'EACCES'] as const;
const hows = ['refused', 'killed', 'answer-lost'] as const;

/** Either it did not matter, or the error has a code of ours: never a stack, never silence. */
export function failedCleanly({ failure, acknowledged, timedOut, stderr }: ChildRun): string[] {
  if (timedOut) return ['it hangs'];
  if (failure === null) return acknowledged.length > 0 ? [] : [`it ended without a word: ${stderr.slice(0, 300)}`];
  return failure.code === null ? [`not an error of ours: ${failure.text.split('\n').slice(0, 4).join(' ')}`] : [];
}

/** With a stride, every so many calls; without, as `chooseCalls` has it. */
export async function failEachCall(copies: Copies, scene: Scene, stride?: number): Promise<Job[]> {
  const { points } = await readPoints(copies, scene);
  const places = stride === undefined ? chooseCalls(points.calls) : everyNth(points.calls.length, stride);
  return failCalls(scene, places);
}

/** `places` count from 1. */
export function failCalls(scene: Scene, places: number[]): Job[] {
  return places.map((at) => ({
    scene,
    fault: { kind: 'fail-call', at, code: codes[at % codes.length] ?? 'EIO' },
  }));
}

export async function failEachGit(
  copies: Copies,
  scene: Scene,
  ways: readonly (typeof hows)[number][],
): Promise<Job[]> {
  const { points } = await readPoints(copies, scene);
  return ways.flatMap((how) =>
    everyNth(points.gits.length).map((at): Job => ({ scene, fault: { kind: 'fail-git', at, how } })),
  );
}

export const allWays = hows;
