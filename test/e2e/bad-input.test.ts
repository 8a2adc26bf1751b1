/** Every mistake gets a clear error with a code, an exit code and a next step, and nothing is lost or changed. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
const answer = createPlan('made.txt', 'made\n');

beforeEach(async () => {
  project = await openTeddyProject({ answers: [answer], chunkDelayMs: 100 });
});

afterEach(() => project.close());

test('without an identity nothing is made, and the two commands to run are named', async () => {
  const { repo } = project;
  await repo.git('config', '--unset', 'user.name');
  await repo.git('config', '--unset', 'user.email');
  await repo.git('config', 'user.useConfigOnly', 'true');
  const env = { HOME: join(repo.root, '.git'), XDG_CONFIG_HOME: join(repo.root, '.git') };
  const said = await project.refuses('NO_IDENTITY', 1, ['session', 'new', 'x'], { env });
  expect(said).toContain('git config --global user.name');
  expect(said).toContain('git config --global user.email');
  await project.refuses('NO_IDENTITY', 1, ['init'], { env });
});
