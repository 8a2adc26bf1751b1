/** The main job, as a person does it: new, plan, execute, branch, and looking at it. */
import { afterEach, expect } from 'vitest';
import { parseContextLog } from '../../src/session/context/context-log-parse.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

let project: TeddyProject;

afterEach(() => project.close());

const plan = (name: string) => createPlan(`${name}.txt`, `${name}\n`);
const branch = () => project.repo.git('branch', '--show-current');
const turnFiles = (session: string, turn: string) => project.repo.list(`.teddy/sessions/${session}/${turn}`);
const readTurn = (session: string, turn: string, file: string) =>
  project.repo.read(`.teddy/sessions/${session}/${turn}/${file}`);

function records(transcript: string): { type: string; message?: { content?: string } }[] {
  return transcript
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
}

test('init, new, plan, execute and a second turn are the story that git log tells', async () => {
  project = await openTeddyProject({ answers: [plan('one'), plan('two')] });
  const { repo } = project;
  expect(await project.ok('init')).toContain('teddy/global');
  expect(await project.ok('init')).toContain('Nothing to do');

  const made = await project.run(['session', 'new', 'add-login']);
  const session = /\.teddy\/sessions\/(\d{8}-add-login)\n$/.exec(made.stdout)?.[1] ?? '';
  expect(made.stdout).toBe(`.teddy/sessions/${session}\n`);
  expect(made.stderr).toContain(`teddy/${session}`);
  expect(made.stderr).toContain('Next: teddy session plan -m');
  expect(await branch()).toBe(`teddy/${session}`);

  const planned = await project.run(['session', 'plan', '-m', 'Make one']);
  expect(planned).toMatchObject({ exitCode: 0, stdout: plan('one') });
  expect(planned.stderr).toContain('Turn 01');
  expect(await readTurn(session, '01', 'plan.md')).toBe(plan('one'));
  const pending = await project.refuses('PLAN_PENDING', 3, ['session', 'plan', '-m', 'Make two']);
  expect(pending).toContain('Turn 01 has a plan but no report.');
  expect(pending).toContain('teddy session execute');

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

slowTest('a branch takes the exact context of its turn, goes on from there, and can be branched again', async () => {
  project = await openTeddyProject({ answers: ['other', 'third', 'again'].map(plan) });
  const { repo } = project;
  const session = await project.begin('forked');
  const main = `teddy/${session}`;
  // The second turn changes the memos: whoever builds the context of its branch anew shows both.
  for (const [name, memo] of [
    ['one', 'Tabs, not spaces.'],
    ['two', 'Short names.'],
  ] as const) {
    await project.plan(plan(name).replace('## Action', `## Memos\n- [+] ${memo}\n\n## Action`));
    await project.ok('session', 'execute', '-y', '--memos=yes');
  }
  const original = parseContextLog(await readTurn(session, '02', '_context.log'));

  const branched = await project.run(['session', 'branch', '02', '-m', 'Make another']);
  expect(branched).toMatchObject({ exitCode: 0, stdout: plan('other') });
  expect(branched.stderr).toContain(`${main}--02-branch-01`);
  expect(await branch()).toBe(`${main}--02-branch-01`);
  expect(await repo.list('.')).not.toContain('two.txt');
  expect(await repo.list('.')).toContain('one.txt');
  const copy = parseContextLog(await readTurn(session, '02-branch-01', '_context.log'));
  const kept = (log: typeof copy) =>
    log.sections
      .filter(({ name }) => name !== 'system' && name !== 'message')
      .map(({ name, path, body }) => [name, path, body]);
  expect(kept(copy)).toEqual(kept(original));
  expect(kept(copy).map(([name]) => name)).toEqual(['memos', 'history', 'tree', 'file', 'file']);
  expect(copy.sections.at(-1)?.body.trim()).toBe('Make another');
  expect(await readTurn(session, '02-branch-01', 'turn.context')).toBe(
    await repo
      .git('show', `${main}:.teddy/sessions/${session}/02/turn.context`)
      .then((text) => (text === '' ? '' : `${text}\n`)),
  );

  await project.ok('session', 'execute', '-y');
  await project.ok('session', 'plan', '-m', 'A third');
  expect(await repo.list(`.teddy/sessions/${session}`)).toEqual(['01', '02-branch-01', '03', 'session.context']);
  await project.ok('session', 'execute', '-y');

  await project.ok('session', 'branch', '02', '-m', 'And again');
  expect(await branch()).toBe(`${main}--02-branch-02`);
  expect(await repo.list(`.teddy/sessions/${session}`)).toEqual(['01', '02-branch-02', 'session.context']);
  expect(await project.ok('session', 'list')).toContain('(+2 branches)');
});

test('a branch without a message waits for one, and status, execute and land say nothing else', async () => {
  project = await openTeddyProject({ answers: [plan('one'), plan('other')] });
  const session = await project.begin('quiet');
  await project.ok('session', 'plan', '-m', 'Make one');
  await project.ok('session', 'execute', '-y');
  await project.ok('session', 'branch', '01', '--no-switch');
  expect(await branch()).toBe(`teddy/${session}`);
  const line = `teddy/${session}--01-branch-01`;
  await project.repo.git('switch', '--quiet', line);
  expect(await project.ok('status')).toBe(
    `On ${line}, a line of ${session}.\n` +
      'Turn 01-branch-01 has no message yet.\n' +
      'Next: teddy session plan -m "what you want"\n',
  );
  expect(JSON.parse(await project.ok('status', '--json'))).toMatchObject({
    turn: { turn: '01-branch-01', status: 'open', hasMessage: false },
    next: ['teddy session plan -m "what you want"'],
  });
  expect(await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute'])).toContain(
    'hint:  Say what to do next: `teddy session plan -m "..."`.\n',
  );
  expect(await project.refuses('NOTHING_TO_LAND', 3, ['session', 'land'])).not.toContain('is waiting for an answer');

  // A message that is recorded without asking is asked by the next plan.
  await project.repo.git('switch', '--quiet', `teddy/${session}`);
  await project.ok('session', 'branch', '01', '--no-plan', '-m', 'Another');
  expect(await branch()).toBe(`teddy/${session}--01-branch-02`);
  expect(project.server.requests()).toHaveLength(1);
  expect(records(await readTurn(session, '01-branch-02', 'transcript.jsonl'))).toMatchObject([
    { type: 'user', message: { content: 'Another' } },
  ]);
  await project.ok('session', 'plan');
  expect(await project.subjects()).toEqual([
    'turn 01-branch-02 plan: Try it',
    'turn 01-branch-02 message: Another',
    'turn 01-branch-02 branch: from turn 01',
    expect.stringContaining('start'),
    'First commit',
  ]);
});

slowTest(
  '-s takes an id, a unique part, a branch or a directory; without it and off a line, the newest session',
  async () => {
    project = await openTeddyProject();
    const { repo } = project;
    const older = await project.begin('older-one');
    await repo.git('switch', '--quiet', 'main');
    const newer = await project.begin('newer-one', '--no-switch');
    expect(await branch()).toBe('main');
    const shownLine = async (...args: string[]) =>
      (JSON.parse(await project.ok('session', 'log', '--json', ...args)) as { session: string }).session;
    expect(await shownLine()).toBe(newer);
    expect(await shownLine('-s', 'older')).toBe(older);
    expect(await shownLine(`-s.teddy/sessions/${older}`)).toBe(older);
    expect(await shownLine(`--session=${repo.root}/.teddy/sessions/${older}/`)).toBe(older);
    const ambiguous = await project.refuses('AMBIGUOUS_SESSION', 2, ['session', 'plan', '-m', 'x', '-s', 'one']);
    expect(ambiguous).toContain(older);
    const unknown = await project.refuses('UNKNOWN_SESSION', 2, ['session', 'execute', '-y', '-s', 'nope']);
    expect(unknown).toContain('teddy session list');

    const planned = await project.plan(plan('one'), 'Somewhere');
    expect(planned.stderr).toContain(newer);
    expect(await project.subjects(`teddy/${newer}`)).toContain('turn 01 message: Somewhere');
    expect(await branch()).toBe('main');
  },
);

slowTest(
  'a taken name gets a number, a free text becomes a name, and the agent of the last turn is remembered',
  async () => {
    project = await openTeddyProject({ answers: [plan('one'), plan('two'), plan('three')] });
    const first = await project.begin('Add a Login, please!', '--no-switch');
    expect(first).toMatch(/^\d{8}-add-a-login-please$/);
    expect(await project.begin('add-a-login-please')).toBe(`${first}-2`);

    await project.ok('session', 'plan', '-m', 'Make one', '-a', 'dev');
    await project.ok('session', 'execute', '-y');
    await project.ok('session', 'plan', '-m', 'Make two');
    expect(await project.repo.git('log', '-2', '--format=%(trailers:key=Teddy-Agent,valueonly,separator=%x2C)')).toBe(
      'dev\ndev',
    );
    const [one, two] = project.server.requests();
    expect(two?.messages[0]).toEqual(one?.messages[0]);
  },
);
