/** Several processes that want the same write session. */
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { runChild, type ChildRun } from './run-child.ts';
import type { Copies, Scene } from './scenes.ts';

const headStartMs = 1500;

/** Two processes begin at the same time, this many times. */
export async function raceToBegin(
  { program }: Copies,
  { root }: ScratchRepository,
  rounds: number,
): Promise<{ begun: number; refused: number; failures: string[] }> {
  const runs = await Promise.all(
    ['one', 'two'].map((name) => runChild({ program, operation: 'race-begin', root, count: rounds, name })),
  );
  const begun = runs.flatMap((run) => run.begun).length;
  const refused = runs.reduce((sum, { refusals }) => sum + refusals, 0);
  const failures = runs.flatMap(({ failure, timedOut, stderr }) =>
    failure !== null ? [failure.text] : timedOut ? [`it hangs: ${stderr}`] : [],
  );
  console.log(
    `faults: 2 processes begin a write session x ${rounds}: ${begun} begun, ${refused} refused, ${failures.length} failures`,
  );
  return { begun, refused, failures };
}

/** A session whose content is complete, and this many processes that finalize it together. */
export async function raceToFinalize(
  { program }: Copies,
  scene: Scene,
  repository: ScratchRepository,
  processes: number,
): Promise<{ runs: ChildRun[]; commits: string[] }> {
  const { root } = repository;
  const begun = await runChild({ program, operation: 'write-and-leave', root });
  const [id = ''] = begun.begun;
  const startAtMs = Date.now() + headStartMs;
  const finalize = () => runChild({ program, operation: 'finalize', root, name: id, startAtMs });
  const runs = await Promise.all(Array.from({ length: processes }, finalize));
  const format = '--format=%H %(trailers:key=Teddy-Write-Session,valueonly,separator=)';
  const rows = (await repository.git('log', '--all', format, `^${scene.oldTip}`)).split('\n');
  const commits = rows.filter((row) => row.endsWith(id)).map((row) => row.split(' ')[0] ?? '');
  const said = runs.flatMap(({ acknowledged }) => acknowledged).length;
  console.log(
    `faults: ${processes} processes finalize one write session: ${commits.length} commits, told ${said} times`,
  );
  return { runs, commits };
}
