/**
 * A separate process that publishes or repairs, for tests that crash it: `publish-child <root> crash <step>` kills
 * itself there, `hold <step>` prints `held` and stays, `repair` prints its work.
 */
import { openRepository } from '../../src/git/repository.ts';
import { publicationOf } from './publication.ts';

const [root = '.', mode = 'repair', wanted] = process.argv.slice(2);

function onStep(step: string): void {
  if (step !== wanted) return;
  if (mode === 'crash') process.kill(process.pid, 'SIGKILL');
  process.stdout.write('held\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const repository = await openRepository({ cwd: root, env: process.env, onStep });
const { workspace } = repository;
if (workspace && mode === 'repair') process.stdout.write(JSON.stringify(await workspace.repair()));
else await workspace?.publish(await publicationOf(repository));
await repository.close();
