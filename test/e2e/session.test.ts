/** The main job, as a person does it: new, plan, execute, branch, and looking at it. */
import { afterEach, expect } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';
import { quickTest as test } from '../support/slow-test.ts';

let project: TeddyProject;

afterEach(() => project.close());

const plan = (name: string) => createPlan(`${name}.txt`, `${name}\n`);
const branch = () => project.repo.git('branch', '--show-current');
const turnFiles = (session: string, turn: string) => project.repo.list(`.teddy/sessions/${session}/${turn}`);
const readTurn = (session: string, turn: string, file: string) =>
  project.repo.read(`.teddy/sessions/${session}/${turn}/${file}`);

test('init, new, plan, execute and a second turn are the story that git log tells', async () => {
  project = await openTeddyProject({ answers: [plan('one'), plan('two')] });
  const { repo } = project;
  expect(await project.ok('init', '--yes', '--only', 'global')).toContain('teddy/global');
  expect(await project.ok('init', '--yes', '--only', 'global')).toContain('Nothing to do');

  const made = await project.run(['session', 'new', 'add-login']);
  const session = /\.teddy\/sessions\/(\d{8}-add-login)\n$/.exec(made.stdout)?.[1] ?? '';
  expect(made.stdout).toBe(`.teddy/sessions/${session}\n`);
  expect(made.stderr).toContain(`teddy/${session}`);
  expect(made.stderr).toContain('Next: teddy plan -m');
  expect(await branch()).toBe(`teddy/${session}`);

  const planned = await project.run(['session', 'plan', '-m', 'Make one']);
  expect(planned).toMatchObject({ exitCode: 0, stdout: plan('one') });
  expect(planned.stderr).toContain('Turn 01');
  expect(await readTurn(session, '01', 'plan.md')).toBe(plan('one'));
  const pending = await project.refuses('PLAN_PENDING', 3, ['session', 'plan', '-m', 'Make two']);
  expect(pending).toContain('Turn 01 has a plan but no report.');
  expect(pending).toContain('teddy execute');

  const executed = await project.run(['session', 'execute', '-y']);
  expect(executed.exitCode).toBe(0);
  expect(executed.stdout).toMatch(/^SUCCESS turn 01 of \S+-add-login: 1 file changed, report [0-9a-f]{10}\n$/);
  expect(await repo.read('one.txt')).toBe('one\n');
  await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute', '-y']);
  await project.refuses('EMPTY_MESSAGE', 2, ['session', 'plan']);

  await project.ok('session', 'plan', '-mMake two');
  await project.ok('session', 'execute', '-y');
  expect(await turnFiles(session, '02')).toEqual([
    '_context.log',
    'plan.md',
    'report.md',
    'transcript.jsonl',
    'turn.context',
  ]);
  expect(await repo.git('status', '--porcelain')).toBe('');
  expect(await project.subjects()).toEqual([
    'turn 02 report: SUCCESS Try it',
    'turn 02 plan: Try it',
    'turn 02 message: Make two',
    'turn 01 report: SUCCESS Try it',
    'turn 01 plan: Try it',
    'turn 01 message: Make one',
    expect.stringMatching(/start/),
    'First commit',
  ]);

  const list = await project.ok('session', 'list');
  expect(list).toMatch(/^\* \d{8}-add-login {2}2 turns {2}\d+ s {2}closed {2}Try it\n/);
  const log = await project.ok('session', 'log');
  expect(log.trim().split('\n')).toHaveLength(7);
  expect(log).toContain('turn 02 report: SUCCESS');
  const shown = await project.ok('session', 'show', '01');
  for (const part of ['Turn 01', 'Make one', '# Try it', 'SUCCESS', '+one']) expect(shown).toContain(part);
  const last = JSON.parse(await project.ok('session', 'show', '--json')) as Record<string, unknown>;
  expect(last).toMatchObject({ schema: 'teddy.session-show/1', turn: '02', status: 'closed', messages: ['Make two'] });
});
