/** The possible results of a run in which the system, or git, refused a call. */
import type { ChildRun } from './run-child.ts';

/** Either it did not matter, or the error has one of our codes: never a stack, never silence. */
export function failedCleanly({ failure, acknowledged, timedOut, stderr }: ChildRun): string[] {
  if (timedOut) return ['it hangs'];
  if (failure === null) return acknowledged.length > 0 ? [] : [`it ended without a word: ${stderr.slice(0, 300)}`];
  return failure.code === null ? [`not an error of ours: ${failure.text.split('\n').slice(0, 4).join(' ')}`] : [];
}
