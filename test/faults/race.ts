/** Several processes that append to one line at the same time, and their result. */
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { runChild } from './run-child.ts';
import type { Scene } from './scenes.ts';

export interface RaceResult {
  /** Ids of the commits that were acknowledged to the writers. */
  acknowledged: string[];
  /** REF_MOVED and LOCKED, after which the writer retried. */
  refusals: number;
  /** The writers' errors, with their codes. */
  failures: string[];
  /** Ids of the commits on the line. */
  reachable: string[];
  /** Entry ids on the line, each once. */
  entryIds: Set<string>;
  /** The entries' files, in the tip's tree. */
  notes: number;
  /** Commits with more than one parent. */
  merges: number;
  durationMs: number;
}

const headStartMs = 1500;

export async function raceAppends(
  program: string,
  scene: Scene,
  repository: ScratchRepository,
  wish: { writers: number; each: number },
): Promise<RaceResult> {
  const startAtMs = Date.now() + headStartMs;
  const runs = await Promise.all(
    Array.from({ length: wish.writers }, (_, at) =>
      runChild({
        program,
        operation: 'append',
        root: repository.root,
        count: wish.each,
        name: `writer-${at + 1}`,
        startAtMs,
      }),
    ),
  );
  const range = [scene.ref ?? 'HEAD', `^${scene.oldTip}`];
  const lines = (text: string) => (text === '' ? [] : text.split('\n'));
  const ids = await repository.git('log', '--format=%(trailers:key=Teddy-Entry-Id,valueonly,separator=)', ...range);
  const tree = await repository.git('ls-tree', '-r', '--name-only', scene.ref ?? 'HEAD');
  return {
    acknowledged: runs.flatMap(({ acknowledged }) => acknowledged),
    refusals: runs.reduce((sum, { refusals }) => sum + refusals, 0),
    failures: runs.flatMap(({ failure, stderr, exitCode }) =>
      exitCode === 0 ? [] : [failure === null ? stderr : `${failure.code}: ${failure.text}`],
    ),
    reachable: lines(await repository.git('rev-list', ...range)),
    entryIds: new Set(lines(ids)),
    notes: lines(tree).filter((path) => /\/note-writer-/.test(path)).length,
    merges: lines(await repository.git('rev-list', '--min-parents=2', ...range)).length,
    durationMs: Date.now() - startAtMs,
  };
}

export function reportRace(title: string, { acknowledged, notes, refusals, failures, durationMs }: RaceResult): void {
  const seconds = (durationMs / 1000).toFixed(1);
  console.log(
    `faults: ${title}: ${acknowledged.length} acknowledged, ${notes} reachable, ${refusals} refused and repeated, ${failures.length} failures, ${seconds} s`,
  );
}
