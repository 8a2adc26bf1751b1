/** `teddy stats` counts what is known: turns, plans, failures, and lines by who brought them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAction, executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeAll(async () => {
  project = await openTeddyProject({
    answers: [planOf(createAction('src/app.ts', 'one\ntwo\n').replace('\n\n', '\n- Overwrite: true\n\n'))],
    files: { 'src/app.ts': 'old\n', 'other.txt': 'not changed by a session\n' },
  });
  await project.begin('first');
  await project.ok('session', 'plan', '-m', 'Two lines');
  await project.ok('session', 'execute', '-y');
  await project.repo.write('src/app.ts', 'one\ntwo\nthree by hand\n');
  await project.plan(planOf(executeAction('exit 3')), 'Fail');
  expect((await project.run(['session', 'execute', '-y'])).exitCode).toBe(1);
  await project.plan(planOf(createAction('never.txt', 'x\n')), 'Never');
  await project.ok('session', 'execute', '--reject');
  await project.plan(planOf(createAction('later.txt', 'x\n')), 'Later');
  // A branch that shares the first turns, and has one more.
  await project.ok('session', 'branch', '02', '--no-plan', '-m', 'Otherwise');
});
afterAll(() => project.close());

test('each turn counts once, a plan as it was judged, and a line as its author’s', async () => {
  const stats = JSON.parse(await project.ok('session', 'stats', '--json')) as Record<string, unknown>;
  expect(stats).toMatchObject({
    schema: 'teddy.session-stats/1',
    since: null,
    sessions: 1,
    turns: 5,
    plans: { accepted: 2, rejected: 1, pending: 1 },
    actions: { run: 2, failed: 1 },
    spent: { answers: 4 },
    lines: { files: 1, models: [{ model: 'gpt-test', lines: 2 }], people: 1, unknown: 0 },
    bySession: [{ lines: 2, turns: 5, spent: { answers: 4 } }],
  });
  expect(await project.ok('session', 'stats')).toMatch(
    new RegExp(
      String.raw`^Sessions {7}1
Turns {10}5
Plans {10}2 accepted, 1 rejected, 1 pending
Actions {8}2 run, 1 of them failed
Cost {11}.+
Lines {10}3 in 1 file that sessions changed
  by gpt-test {2}2 \(67 %\)
  by people {4}1 \(33 %\)
$`,
    ),
  );
});

test('--since leaves out what is older, and is refused where it is no time', async () => {
  expect(JSON.parse(await project.ok('session', 'stats', '--since', '2099-01-01', '--json'))).toMatchObject({
    turns: 0,
    sessions: 0,
    bySession: null,
    lines: { models: [], people: 0 },
  });
  expect(JSON.parse(await project.ok('session', 'stats', '--since', '1h', '--json'))).toMatchObject({ turns: 5 });
  await project.refuses('USAGE', 2, ['session', 'stats', '--since', 'yesterday']);
});

test('a file that got another name is counted under that', async () => {
  await project.repo.git('mv', 'src/app.ts', 'src/once.ts');
  await project.repo.git('commit', '--quiet', '-m', 'Rename');
  await project.repo.git('mv', 'src/once.ts', 'src/new app.ts');
  await project.repo.git('commit', '--quiet', '-m', 'Rename again');
  expect(JSON.parse(await project.ok('session', 'stats', '--json'))).toMatchObject({
    lines: { files: 1, models: [{ model: 'gpt-test', lines: 2 }], people: 1, unknown: 0 },
    bySession: [{ lines: 2, turns: 5, spent: { answers: 4 } }],
  });
});
