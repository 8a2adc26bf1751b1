/** A plan's contents are written byte for byte, and its own text is kept so. */
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createAction,
  createPlan,
  editAction,
  executeAction,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;

beforeEach(async () => {
  project = await openTeddyProject({
    files: {
      'max.ts': 'max = 1\nx = 1\n',
      'limit.ts': 'limit = 100;\n',
      'crlf.txt': 'one\r\ntwo\r\nthree\r\n',
      'mixed.txt': 'one\r\ntwo\nthree\r\n',
      'tabs.go': 'func f() {\n\tif a {\n\t\tb()\n\t}\n}\n',
      'twice.ts': 'if (a) {\n  b();\n  c();\n}\n\tb();\n\tc();\n',
    },
  });
  session = await project.begin('bytes');
});

afterEach(() => project.close());

async function execute(answer: string, exitCode = 0): Promise<string> {
  await project.plan(answer);
  const result = await project.run(['session', 'execute', '-y']);
  expect(result).toMatchObject({ exitCode });
  return result.stderr;
}

const onDisk = (path: string) => readFile(join(project.repo.root, path));

test('5,000 lines with odd bytes are written, and their plan is kept, byte for byte', async () => {
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
  await execute(answer);
  expect((await onDisk('big.txt')).equals(Buffer.from(content))).toBe(true);
  expect((await onDisk(`.teddy/sessions/${session}/01/plan.md`)).equals(Buffer.from(answer))).toBe(true);
  const { repo } = project;
  const named = await repo.git('ls-tree', '-r', 'HEAD', 'big.txt', `.teddy/sessions/${session}/01/plan.md`);
  const oids = named.split('\n').map((row) => row.split(/[ \t]/)[2]);
  await repo.write('.git/expected-plan', answer);
  await repo.write('.git/expected-file', content);
  expect(oids).toEqual([
    await repo.git('hash-object', '--no-filters', '.git/expected-plan'),
    await repo.git('hash-object', '--no-filters', '.git/expected-file'),
  ]);
});

test('an answer with CRLF is kept as it is, and makes a file with CRLF', async () => {
  const answer = createPlan('windows.txt', 'one\ntwo\n').replaceAll('\n', '\r\n');
  await execute(answer);
  expect((await onDisk('windows.txt')).toString()).toBe('one\r\ntwo\r\n');
  expect((await onDisk(`.teddy/sessions/${session}/01/plan.md`)).toString()).toBe(answer);
});

test('a fence in the content stays content, also with an info string', async () => {
  const content = '~~~~~~python\nprint(1)\n~~~~~~\n```\n';
  await execute(createPlan('doc.md', content));
  expect((await onDisk('doc.md')).toString()).toBe(content);
});

test('EDITs change the line that they mean, and nothing else about the file', async () => {
  await execute(
    planOf(
      editAction('max.ts', 'x = 1', 'x = 2'),
      editAction('crlf.txt', 'two', '2\n2b'),
      editAction('mixed.txt', 'two\nthree', '2\n3\n4'),
      editAction('tabs.go', 'if a {\n\tb()\n}', 'if c {\n\td()\n}'),
      editAction('twice.ts', 'b();\nc();', 'd();').replace('\n\n', '\n- Match All: true\n\n'),
    ),
  );
  expect((await onDisk('max.ts')).toString()).toBe('max = 1\nx = 2\n');
  expect((await onDisk('crlf.txt')).toString()).toBe('one\r\n2\r\n2b\r\nthree\r\n');
  expect((await onDisk('mixed.txt')).toString()).toBe('one\r\n2\n3\r\n4\r\n');
  expect((await onDisk('tabs.go')).toString()).toBe('func f() {\n\tif c {\n\t\td()\n\t}\n}\n');
  expect((await onDisk('twice.ts')).toString()).toBe('if (a) {\n  d();\n}\n\td();\n');
});

test('an EDIT after a CREATE of the same file, stacked pairs, and an empty REPLACE', async () => {
  const pair = (find: string, replace: string) =>
    `#### FIND:\n\`\`\`\n${find}\`\`\`\n#### REPLACE:\n\`\`\`\n${replace}\`\`\`\n`;
  await execute(
    planOf(
      createAction('/variables.tf', 'one\ntwo\nthree\n'),
      `### EDIT\n- File Path: [variables.tf](/variables.tf)\n\n${pair('two\n', '')}${pair('one\n', 'three\nfour\n')}${pair('three\nfour\n', '3\n4\n')}`,
      createAction('[a b.txt](/dir%20x/a%20b.txt)', 'spaced\n'),
    ),
  );
  expect((await onDisk('variables.tf')).toString()).toBe('3\n4\nthree\n');
  expect((await onDisk('dir x/a b.txt')).toString()).toBe('spaced\n');
});

test('a number that differs is a miss, and nothing of the plan has run', async () => {
  const said = await execute(planOf(executeAction('touch ran.txt'), editAction('limit.ts', '= 500;', '= 700;')), 1);
  expect(said).toMatch(/plan\.md:\d+:\d+: .*FIND was not found/);
  expect((await onDisk('limit.ts')).toString()).toBe('limit = 100;\n');
  expect(await project.repo.list('.')).not.toContain('ran.txt');
});

test('a text in Expected Outcome that looks like a parameter stays there', async () => {
  await execute(
    planOf(executeAction('true', 'Expected Outcome: prints\n  Description: none\n  - Description: nested')),
  );
  const report = await project.report();
  expect(report.action_logs[0]?.params).toMatchObject({
    description: 'run it',
    expected_outcome: expect.stringContaining('Description: none') as string,
  });
});

test('a CREATE without a path, or through a link out of the project, is told at its place before anything is asked or run', async () => {
  const { repo } = project;
  await symlink('/', join(repo.root, 'out'));
  await repo.git('add', 'out');
  await repo.git('commit', '--quiet', '-m', 'A link');
  const answer = planOf(
    executeAction('touch ran.txt'),
    '### CREATE\n- Description: no path\n\n```\nx\n```\n',
    createAction('out/escape.txt', 'x\n'),
    createAction('../escape.txt', 'x\n'),
  );
  const planned = await project.plan(answer);
  // Nobody can be asked here, and yet the plan is told to be wrong.
  const result = await project.run(['session', 'execute']);
  expect(result.exitCode).toBe(1);
  const report = await project.report();
  const lineOf = (text: string) => answer.slice(0, answer.indexOf(text)).split('\n').length;
  expect(report.run_summary.status).toBe('VALIDATION_FAILED');
  expect(report.validation_errors.map(({ line, column }) => [line, column])).toEqual([
    [lineOf('### CREATE\n- Desc'), 1],
    [lineOf('### `CREATE`\n- **File Path:** out'), 1],
    [lineOf('../escape'), 18],
  ]);
  for (const { line, column } of report.validation_errors) {
    expect(planned.stderr).toContain(`plan.md:${line}:${column}: `);
    expect(result.stderr).toContain(`plan.md:${line}:${column}: `);
  }
  expect(await repo.list('.')).not.toContain('ran.txt');
});
