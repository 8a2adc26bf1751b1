/** A plan's actions and its report, with answers by hand. */
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createAction,
  createPlan,
  editAction,
  executeAction,
  openBegun,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  const files = { 'README.md': '# Scratch\n', 'src/app.ts': 'let a = 1;\nlet b = 2;\n' };
  ({ project } = await openBegun('plans', { files }));
});

afterEach(() => project.close());

/** Plans it, executes it with -y, and checks that the report agrees with what git sees. */
async function execute(answer: string, exitCode = 0, ...args: string[]) {
  await project.plan(answer);
  const result = await project.run(['session', 'execute', '-y', ...args]);
  expect(result).toMatchObject({ exitCode });
  return { ...result, report: await reportAgreeingWithGit() };
}

async function reportAgreeingWithGit() {
  const report = await project.report();
  const raw = await project.repo.git('diff-tree', '-r', '--no-renames', 'HEAD~1', 'HEAD', '--', ':!.teddy');
  const seen = raw
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, , before = '', after = '', letter = '', path = ''] = line.split(/[ \t]/);
      const change = { A: 'added', M: 'modified', D: 'deleted' }[letter];
      return { path, change, before: change === 'added' ? null : before, after: change === 'deleted' ? null : after };
    });
  expect(report.changes.map(({ path, change, before, after }) => ({ path, change, before, after }))).toEqual(seen);
  expect(await project.repo.git('status', '--porcelain')).toBe('');
  return report;
}

test('both dialects create, edit, read, run and talk, and the report tells each', async () => {
  const answer = [
    '# Everything',
    '',
    '- **Status:** Green',
    '',
    '## Action Plan',
    '',
    createAction('[new.md](/docs/new.md)', '# New\n\n```js\nfenced();\n```\n'),
    '### `EDIT`',
    '- **File Path:** [app.ts](/src/app.ts)',
    '- **Description:** change a',
    '',
    '`FIND:`',
    '```',
    'let a = 1;',
    '```',
    '`REPLACE:`',
    '```',
    'let a = 10;',
    '```',
    '',
    editAction('src/app.ts', 'let b = 2;', 'let b = 20;'),
    '### READ',
    '- Resource: README.md',
    '',
    executeAction('echo "out: $GREETING"; echo err >&2; touch built.txt', 'cwd: src', 'env:\n  - GREETING: hello'),
    '### CHAT_WITH_USER',
    '',
    'Is that right?',
    '',
    '## Message',
    '',
    'Done.',
    '',
  ].join('\n');
  const { report, stderr } = await execute(answer);
  expect(report.run_summary).toMatchObject({ status: 'SUCCESS', error: null });
  expect(report.action_logs.map(({ action_type, status, approved_by }) => [action_type, status, approved_by])).toEqual(
    ['CREATE', 'EDIT', 'EDIT', 'READ', 'EXECUTE', 'CHAT_WITH_USER'].map((type) => [type, 'SUCCESS', 'flag']),
  );
  expect(report.action_logs[4]?.details).toMatchObject({ return_code: 0, stdout: 'out: hello\n', stderr: 'err\n' });
  expect(report.changes.map(({ path, change, action }) => [path, change, action])).toEqual([
    ['docs/new.md', 'added', 1],
    ['src/app.ts', 'modified', 3],
    ['src/built.txt', 'added', 5],
  ]);
  expect(await project.repo.read('docs/new.md')).toBe('# New\n\n```js\nfenced();\n```\n');
  expect(await project.repo.read('src/app.ts')).toBe('let a = 10;\nlet b = 20;\n');
  expect(stderr).toContain('Is that right?');

  await project.plan(planOf(), 'Next');
  const context = await project.repo.git('show', 'HEAD:.teddy/sessions/' + report.session + '/02/turn.context');
  expect(context.split('\n')).toEqual(expect.arrayContaining(['README.md', 'docs/new.md', 'src/app.ts']));
});

test('a failing action skips the rest, reports FAILURE, exits 1, and the line goes on', async () => {
  const answer = planOf(
    createAction('first.txt', 'first\n'),
    executeAction('echo before; echo why >&2; false; echo after'),
    createAction('last.txt', 'last\n'),
  );
  const { report, stdout, stderr } = await execute(answer, 1);
  expect(report.run_summary).toMatchObject({ status: 'FAILURE', error: 'action 2 (EXECUTE) failed' });
  expect(report.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'FAILURE', 'SKIPPED']);
  expect(report.action_logs[1]?.details).toMatchObject({ return_code: 1, failed_command: 'false', stdout: 'before\n' });
  expect(report.changes.map(({ path }) => path)).toEqual(['first.txt']);
  expect(stdout).toMatch(/^FAILURE turn 01 /);
  expect(stderr).toContain('Next: teddy session plan -m');
  expect(await project.ok('session', 'show')).toMatch(/2\. EXECUTE .*: FAILURE exit 1, \d+ ms\n {5}why\n/);
  await project.plan(planOf(), 'Try again');
});

test('Allow Failure goes on, a timeout ends the whole group, and long output is kept beside the report', async () => {
  const { report } = await execute(
    planOf(
      executeAction('exit 3', 'Allow Failure: true'),
      executeAction('echo started; sleep 30 & sleep 30', 'Timeout: 1', 'Allow Failure: true'),
      executeAction('seq 1 500', 'Tail: 2'),
    ),
  );
  expect(report.run_summary.status).toBe('SUCCESS');
  expect(report.action_logs[0]).toMatchObject({ status: 'FAILURE', details: { return_code: 3 } });
  expect(report.action_logs[1]).toMatchObject({
    status: 'FAILURE',
    details: { return_code: 124, timed_out: true, stdout: 'started\n' },
  });
  expect(report.action_logs[2]?.details).toMatchObject({ stdout: '499\n500\n', output_file: 'output/3.log' });
  const output = await project.repo.read(`.teddy/sessions/${report.session}/01/output/3.log`);
  expect(output.split('\n')).toContain('250');
});

test('a plan that cannot work is warned about at once, and reported VALIDATION_FAILED without running anything', async () => {
  const bad = planOf(
    createAction('ok.txt', 'ok\n'),
    editAction('src/app.ts', 'let c = 3;', 'let c = 4;'),
    '### RESEARCH\n- Description: look\n\n```\nquery\n```\n',
    '### DANCE\n- How: wildly\n',
    '### INVOKE\n- Agent: nobody\n\nGo on.\n',
  );
  const planned = await project.plan(bad);
  expect(planned.stderr).toMatch(/warning: plan\.md:\d+:\d+: /);
  const status = await project.ok('status');
  expect(status).toMatch(/^Turn \d\d has a plan that is not valid: .+ \([3-9] problems\)\.$/m);
  expect(status).toContain(
    'Next: teddy session plan --instead -m "what to do instead"\n  or: teddy session execute --replan 2\n',
  );
  const { exitCode, stderr } = await project.run(['session', 'execute', '-y']);
  expect(exitCode).toBe(1);
  const report = await reportAgreeingWithGit();
  expect(report.run_summary.status).toBe('VALIDATION_FAILED');
  expect(report.action_logs.every(({ status }) => status === 'SKIPPED')).toBe(true);
  const said = report.validation_errors.map(({ message }) => message).join('\n');
  for (const word of ['RESEARCH', 'INVOKE nobody', 'DANCE']) expect(said).toContain(word);
  expect(said).toContain('no search command configured');
  expect(stderr).toMatch(/plan\.md:\d+:\d+: /);
  expect(await project.repo.list('.')).not.toContain('ok.txt');
  await execute(createPlan('ok.txt', 'ok\n'));
});

test('nothing outside the project, behind a link out of it, in .git or in .teddy is ever written', async () => {
  await symlink('/tmp', join(project.repo.root, 'out'));
  await project.repo.git('add', 'out');
  await project.repo.git('commit', '--quiet', '-m', 'A link');
  const paths = [
    '../escape.txt',
    'out/escape.txt',
    '.git/hooks/pre-commit',
    '.GIT/config2',
    '.teddy/memos2.yaml',
    '/../x',
  ];
  const { report } = await execute(planOf(...paths.map((path) => createAction(path, 'evil\n'))), 1);
  expect(report.run_summary.status).toBe('VALIDATION_FAILED');
  expect(report.validation_errors.map(({ message }) => paths.filter((path) => message.includes(path)))).toEqual(
    paths.map((path) => [path]),
  );
});

test('memos need a yes of their own: -y does not cover them', async () => {
  const withMemo = (fact: string) =>
    `# Remember\n\n## Memos\n\n- [+] ${fact}\n\n## Action Plan\n\n${createAction(`${fact}.txt`, 'x\n')}`;
  const waiting = await execute(withMemo('one'));
  expect(waiting.report.memos).toEqual({ added: [], removed: [], rejected: [], proposed: ['one'] });
  expect(waiting.stderr).toContain('--memos=yes');
  expect(await project.repo.git('show', 'teddy/global:memos.yaml')).not.toContain('one');

  const refused = await execute(withMemo('three'), 0, '--memos', 'no');
  expect(refused.report.memos.rejected).toEqual(['three']);
  await project.refuses('USAGE', 2, ['session', 'execute', '-y', '--memos=maybe']);
});

test('without a terminal and without -y nothing is run and nothing is reported', async () => {
  await project.plan(createPlan('a.txt', 'a\n'));
  const said = await project.refuses('NOT_APPROVED', 4, ['session', 'execute']);
  expect(said).toContain('-y');
  expect(said).toContain('--reject');
  await project.refuses('USAGE', 2, ['session', 'execute', '-y', '--reject']);
  const rejected = await project.run(['session', 'execute', '--reject=not what I meant']);
  expect(rejected).toMatchObject({ exitCode: 0 });
  const report = await reportAgreeingWithGit();
  expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'not what I meant' });
  expect(report.changes).toEqual([]);
  await project.plan(createPlan('b.txt', 'b\n'));
  expect((await project.run(['session', 'execute', '--reject'])).exitCode).toBe(0);
  await project.plan(createPlan('c.txt', 'c\n'));
  // The editor says how to comment, which is no comment itself.
  const env = { GIT_EDITOR: `sh -c 'grep -q "begins with >>" "$0" && echo ">> Why?" >> "$0"'` };
  expect((await project.run(['session', 'approve', '--edit'], { env })).exitCode).toBe(0);
  const shown = (await project.run(['session', 'show'])).stdout;
  expect(shown.match(/line \d+: .*/g)).toEqual([expect.stringMatching(/: Why\?$/)]);
  expect((await project.run(['session', 'reject', '-m', 'Smaller steps.'])).exitCode).toBe(0);
  expect((await project.run(['status'])).stdout).toContain('was aborted: Smaller steps.\n');
  await project.plan('# Only talk\n\n## Message\n\nHello.\n');
  await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute', '-y']);
  await project.plan(planOf());
  expect((await project.run(['session', 'execute'])).exitCode).toBe(0);
});

test('an answer whose actions stand at the wrong level is said to be no valid plan, and what is printed next works', async () => {
  const answer = '# Make it\n\n## CREATE\n- **File Path:** a.txt\n\n```\nx\n```\n';
  const planned = await project.plan(answer);
  expect(planned.stderr).toContain('plan.md:3:1: Found the action "## CREATE" outside of the Action Plan');
  expect(planned.stderr).toContain(': an invalid plan was committed as ');
  expect(planned.stderr).toContain('Next: teddy session plan --instead -m "..."');
  expect(await project.run(['session', 'execute', '-y'])).toMatchObject({ exitCode: 1 });
  // A plan without any action waits as well.
  expect((await project.plan('# None\n\n## Action Plan\n')).stderr).toContain('Next: teddy session execute\n');
  expect(await project.run(['session', 'execute'])).toMatchObject({ exitCode: 0 });
});
