import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;
let bare: string;

beforeAll(async () => {
  project = await openTeddyProject();
  session = await project.begin('add-login');
  await project.plan(createPlan('a.txt', 'A\n'), 'Make a.txt, @ada. fixes #1');
  await project.ok('session', 'execute', '-y');
  bare = join(await mkdtemp(join(tmpdir(), 'teddy-bare-')), 'bare.git');
  await project.repo.git('clone', '--quiet', '--bare', '.', bare);
});

afterAll(async () => {
  await rm(join(bare, '..'), { recursive: true, force: true });
  await project.close();
});

test('every look works in a bare clone, changes nothing and says what it is with --json', async () => {
  const looks: [schema: string, args: string[]][] = [
    ['session-log', ['log', '--graph']],
    ['session-show', ['show', '01']],
    ['session-diff', ['diff', '01']],
    ['session-review', ['review', session]],
    ['session-line-stats', ['stats', '-s', 'add-login']],
    ['session-stats', ['stats']],
  ];
  const before = await project.repo.fingerprint();
  await Promise.all(
    looks.map(async ([schema, args]) => {
      const { exitCode, stdout } = await project.run(['session', ...args, '--json'], { cwd: bare });
      expect({ args, exitCode, schema: (JSON.parse(stdout) as { schema: string }).schema }).toEqual({
        args,
        exitCode: 0,
        schema: `teddy.${schema}/1`,
      });
    }),
  );
  expect(await project.repo.fingerprint()).toEqual(before);
});
