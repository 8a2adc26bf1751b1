/** `teddy execute --dry-run`: all that the plan would do, and not a byte of the repository is another one afterwards. */
import { openMemoryBegun, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAction, editAction, executeAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;
let session: string;

beforeEach(async () => {
  const files = { 'src/app.ts': 'const a = 1;\nconst b = 2;\n', 'gone.txt': 'gone\n' };
  ({ project, session } = await openMemoryBegun('dry', { files }));
});

afterEach(() => project.close());

const valid = [
  createAction('a.txt', 'one\ntwo\n'),
  editAction('a.txt', 'two', 'three'),
  editAction('src/app.ts', 'const a = 1;', 'const a = 7;'),
  createAction('gone.txt', 'again\n'),
  executeAction('touch made.txt', 'cwd: src'),
  '### READ\n- Resource: https://example.org/page\n- Lines: 1-5\n',
];

interface Preview {
  schema: string;
  session: string;
  line: string;
  turn: string;
  actions: { index: number; type: string; effect: Record<string, unknown> | null }[];
  files: { path: string; change: string; diff: string }[];
  memos: { kind: string; fact: string; applies: boolean }[];
  problems: { line: number; column: number; action: number; message: string }[];
}

test('each action is shown with what it would do, then one diff a file', async () => {
  const memos = '## Memos\n\n```\n[+] Use pnpm\n[-] Use npm\n```\n\n';
  await project.plan(planOf(...valid).replace('## Action Plan', `${memos}## Action Plan`));
  const { stdout, stderr } = await project.run(['session', 'execute', '--dry-run', '--skip', '4']);
  expect(stdout).toBe(`Turn 01 of ${session}: Try it

Memos
  [+] Use pnpm
  [-] Use npm (no such memo)

1/6 CREATE a.txt
make it
  a new file

2/6 EDIT a.txt
  at line 2

3/6 EDIT src/app.ts
  at line 1

5/6 EXECUTE touch made.txt
run it
  in src
  $ touch made.txt

6/6 READ https://example.org/page
  lines 1-5

--- /dev/null
+++ b/a.txt
@@ -0,0 +1,2 @@
+one
+three

--- a/src/app.ts
+++ b/src/app.ts
@@ -1,2 +1,2 @@
-const a = 1;
+const a = 7;
 const b = 2;
`);
  expect(stderr).toBe('Nothing was changed. To run it: teddy execute\n');
});

test('it says how an edit is found, what a question asks, and that what a command changes is not known', async () => {
  const { repo } = project;
  await repo.commit({ 'many.txt': 'x\n'.repeat(12), 'tabs.txt': '\ta\n\tb\n' });
  const matchAll = editAction('many.txt', 'x', 'y').replace('many.txt\n', 'many.txt\n- Match All: true\n');
  const whole = '### EDIT\n- File Path: README.md\n\n#### REPLACE:\n```\nnew\n```\n';
  const ask = '### PROMPT\n\nWhich one?\n\n- this\n- that\n';
  const overwrite = createAction('tabs.txt', '\ta\n\tb\n');
  await repo.commit({ 'README.md': 'old\n' });
  const slow = executeAction('make', 'Timeout: 5', 'Allow Failure: true', 'env:\n  - CI: 1');
  await project.plan(planOf(overwrite, slow, matchAll, editAction('tabs.txt', 'a\nb', 'c\nd'), whole, ask));
  const { stdout, stderr } = await project.run(['session', 'execute', '--dry-run']);
  const [, ...actions] = stdout.slice(0, stdout.indexOf('\n\n---')).split('\n\n');
  expect(actions).toEqual([
    '1/6 CREATE tabs.txt\nmake it\n  the file already has this content',
    '2/6 EXECUTE make\nrun it\n  at most 5 s\n  a failure does not stop the run\n  CI=1\n  $ make',
    '3/6 EDIT many.txt\n  at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more',
    '4/6 EDIT tabs.txt\n  at line 1, where the indentation differs',
    '5/6 EDIT README.md\n  the whole file is replaced',
    '6/6 PROMPT Which one? ...\n  Which one?',
    '  - this\n  - that',
  ]);
  expect(stderr).toMatch(/^teddy cannot predict what a command would change, so /);
});

test('all problems are named at once with their places in the plan, and what is valid is shown', async () => {
  const path = await writePlan(
    createAction('ok.txt', 'ok\n'),
    editAction('missing.txt', 'a', 'b'),
    editAction('src/app.ts', 'x', 'y'),
  );
  const { stdout, stderr, exitCode } = await project.run(['session', 'execute', '--dry-run']);
  expect(exitCode).toBe(1);
  const lines = (await project.repo.read(path)).split('\n');
  const places = [...stderr.matchAll(/^plan\.md:(\d+):(\d+): (.*)$/gm)].map(([, line, column, message]) => ({
    at: lines[Number(line) - 1]?.slice(Number(column) - 1),
    message,
  }));
  expect(places).toMatchObject([
    { at: '### EDIT', message: 'EDIT missing.txt: there is no such file.' },
    { at: '#### FIND:', message: expect.stringContaining('EDIT src/app.ts: FIND') },
  ]);
  expect(stderr).toContain('\n         Use CREATE for a new file.\n');
  expect(stdout).toContain('2/3 EDIT missing.txt\n  cannot be done\n');
  expect(stdout).toContain('+++ b/ok.txt\n');
  const executed = await project.run(['session', 'execute', '-y']);
  expect(executed.stderr).toContain(stderr.slice(0, stderr.indexOf('Nothing was changed')));
});

async function writePlan(...actions: string[]): Promise<string> {
  await project.plan(planOf(...actions));
  return `.teddy/sessions/${session}/01/plan.md`;
}

describe('--json', () => {
  test('holds the problems and the commands, and exits with 1', async () => {
    await project.plan(planOf(executeAction('make', 'Timeout: 5'), createAction('gone.txt', 'again\n')));
    const { stdout, stderr, exitCode } = await project.run(['session', 'execute', '--dry-run', '--json']);
    expect([exitCode, stderr]).toEqual([1, '']);
    const { actions, problems, files } = JSON.parse(stdout) as Preview;
    expect(actions.map(({ effect }) => effect)).toEqual([
      { kind: 'command', script: 'make\n', cwd: '.', env: {}, timeout_ms: 5000 },
      null,
    ]);
    expect([problems.map(({ action, message }) => [action, message]), files]).toEqual([
      [[2, 'CREATE gone.txt: the file exists already.']],
      [],
    ]);
  });
});

test('it excludes the flags that decide something', async () => {
  await project.plan(planOf(...valid));
  for (const flag of ['-y', '--reject', '--memos=yes']) {
    const said = await project.refuses('USAGE', 2, ['session', 'execute', '--dry-run', flag]);
    expect(said).toContain(`--dry-run and ${flag.replace('=yes', '')} cannot be combined.`);
  }
});

test('without a pending plan, and with one that was changed on disk, there is an error and nothing is shown', async () => {
  await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute', '--dry-run']);
  const path = await writePlan(...valid);
  await project.repo.write(path, planOf(createAction('other.txt', 'other\n')));
  await project.refuses('PLAN_MODIFIED', 3, ['session', 'execute', '--dry-run']);
});
