/** A plan with every kind of action, and one with odd bytes, as they are executed. */
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
let session: string;

beforeEach(async () => {
  const files = { 'README.md': '# Scratch\n', 'src/app.ts': 'let a = 1;\nlet b = 2;\n' };
  ({ project, session } = await openBegun('plans', { files }));
});

afterEach(() => project.close());

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
  await project.plan(answer);
  const { stderr, exitCode } = await project.run(['session', 'execute', '-y']);
  expect(exitCode).toBe(0);
  const report = await project.report();
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

test('5,000 lines with odd bytes are written, and their plan is kept, byte for byte', async () => {
  const { repo } = project;
  const odd = [
    '',
    '  ',
    '\t',
    'end ',
    '\ttab\t',
    'a\r',
    '\u00fc \u{1f43b}',
    '\u2028',
    '\u00a0',
    '\uFEFF',
    '```',
    '~~~',
    '# no',
    '### CREATE',
    '- **File Path:** x',
    "$'\\n",
    '\u0007',
    '\0',
    '&amp;',
    '\\',
  ];
  const lines = Array.from({ length: 5_000 }, (_, i) => `${odd[i % odd.length] ?? ''}${i % 3 === 0 ? '' : i}`);
  const content = `${lines.join('\n')}\n`;
  const answer = createPlan('big.txt', content).replace(/\n$/, '');
  await project.plan(answer);
  await project.ok('session', 'execute', '-y');
  await repo.write('.git/plan', answer);
  await repo.write('.git/file', content);
  const expected = await repo.git('hash-object', '--no-filters', '.git/file', '.git/plan');
  const plan = `.teddy/sessions/${session}/01/plan.md`;
  expect(await repo.git('rev-parse', 'HEAD:big.txt', `HEAD:${plan}`)).toBe(expected);
  expect(await repo.git('hash-object', '--no-filters', 'big.txt', plan)).toBe(expected);
});
