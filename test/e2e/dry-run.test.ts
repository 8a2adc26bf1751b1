/** `session execute --dry-run`: all that the plan would do, and not a byte of the repository is another one afterwards. */
import { createHash } from 'node:crypto';
import { lstat, mkdtemp, readdir, readFile, realpath, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasTerminal, runInTerminal } from '../support/run-in-terminal.ts';
import { openScratchRepository } from '../support/scratch-repository.ts';
import {
  createAction,
  editAction,
  executeAction,
  openBegun,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;

beforeEach(async () => {
  const files = { 'src/app.ts': 'const a = 1;\nconst b = 2;\n', 'gone.txt': 'gone\n' };
  ({ project, session } = await openBegun('dry', { files }));
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

async function preview(...args: string[]): Promise<Preview> {
  return JSON.parse(await project.ok('session', 'execute', '--dry-run', '--json', ...args)) as Preview;
}

/** Everything below `.git`: each file with its content, each directory. */
async function readGitDir(below = '.git'): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of await readdir(join(project.repo.root, below))) {
    const path = `${below}/${name}`;
    const stat = await lstat(join(project.repo.root, path));
    if (stat.isDirectory()) Object.assign(found, { [path]: 'directory' }, await readGitDir(path));
    else
      found[path] = createHash('sha256')
        .update(await readFile(join(project.repo.root, path)))
        .digest('hex');
  }
  return found;
}

async function look(): Promise<object> {
  return { ...(await project.repo.fingerprint()), files: await readGitDir() };
}

/** Edits, something staged, a stash, and an index whose times are old, so that a refresh of it would show. */
async function workOn(): Promise<void> {
  const { repo } = project;
  await repo.write('src/app.ts', 'stashed\n');
  await repo.git('stash', '--quiet');
  await repo.write('staged.txt', 'staged\n');
  await repo.git('add', 'staged.txt');
  await repo.write('src/app.ts', 'const a = 1;\nmine\n');
  await repo.write('untracked.txt', 'mine\n');
  await rm(join(repo.root, 'gone.txt'));
  await utimes(join(repo.root, 'staged.txt'), new Date(0), new Date(0));
}

test.each([
  ['a valid plan', valid, 0],
  ['a plan with problems', [...valid, editAction('missing.txt', 'a', 'b')], 1],
])(
  '%s changes nothing: not HEAD, the index, the stash, a file, nor anything below .git',
  async (_, actions, exitCode) => {
    await project.plan(planOf(...actions));
    await workOn();
    const before = await look();
    for (const more of [[], ['--json'], ['--only', '1-3'], ['-s', session]]) {
      const { stderr, ...run } = await project.run(['session', 'execute', '--dry-run', ...more]);
      expect(run.exitCode, stderr).toBe(more[0] === '--only' ? 0 : exitCode);
      expect(await look()).toEqual(before);
    }
    expect(project.server.requests()).toEqual([]);
  },
);

describe('--json', () => {
  test('is one document, with diffs that git applies to what the run then makes', async () => {
    await project.plan(planOf(...valid));
    const found = await preview('--skip', '4-6');
    expect(found).toMatchObject({
      schema: 'teddy.execute-preview/1',
      session,
      line: `teddy/${session}`,
      turn: '01',
      memos: [],
      problems: [],
    });
    expect(found.actions.map(({ index, type, effect }) => [index, type, effect?.['change']])).toEqual([
      [1, 'CREATE', 'added'],
      [2, 'EDIT', 'modified'],
      [3, 'EDIT', 'modified'],
    ]);
    expect(found.files.map(({ path, change }) => [path, change])).toEqual([
      ['a.txt', 'added'],
      ['src/app.ts', 'modified'],
    ]);
    await project.repo.write('.git/preview.diff', found.files.map(({ diff }) => diff).join(''));
    await project.repo.git('apply', '.git/preview.diff');
    const predicted = await Promise.all(['a.txt', 'src/app.ts'].map((path) => project.repo.read(path)));
    await project.repo.git('apply', '--reverse', '.git/preview.diff');
    await project.ok('session', 'execute', '-y', '--skip', '4-6');
    expect(await Promise.all(['a.txt', 'src/app.ts'].map((path) => project.repo.read(path)))).toEqual(predicted);
  });
});

test('a line that another work tree has is looked at there, and both work trees stay as they are', async () => {
  const { repo } = project;
  await project.plan(planOf(...valid));
  await repo.git('switch', '--quiet', 'main');
  await project.begin('newer', '--no-switch');
  const place = join(await realpath(await mkdtemp(join(tmpdir(), 'teddy-linked-'))), 'tree');
  await repo.git('worktree', 'add', '--quiet', place, `teddy/${session}`);
  try {
    const linked = openScratchRepository(place);
    await linked.write('src/app.ts', 'const a = 1;\nthere\n');
    await repo.write('src/app.ts', 'const a = 1;\nhere\n');
    const before = [await look(), await linked.fingerprint()];
    const { files } = await preview('-s', session, '--only', '3');
    expect(files[0]?.diff).toContain('\n there\n');
    expect([await look(), await linked.fingerprint()]).toEqual(before);
  } finally {
    await repo.git('worktree', 'remove', '--force', place);
    await rm(join(place, '..'), { recursive: true, force: true });
  }
});

test('a line that is checked out nowhere, or only on a remote, is refused, and no branch is made', async () => {
  const { repo } = project;
  await project.plan(planOf(...valid));
  await repo.git('switch', '--quiet', 'main');
  await project.refuses('NOT_ON_LINE', 3, ['session', 'execute', '--dry-run', '-s', session]);
  await repo.git('update-ref', `refs/remotes/origin/teddy/${session}`, `teddy/${session}`);
  await repo.git('branch', '--quiet', '-D', `teddy/${session}`);
  const said = await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute', '--dry-run', '-s', session]);
  expect(said).toContain(`git switch -c teddy/${session} `);
});

describe.skipIf(!hasTerminal)('at a terminal', () => {
  test('it goes through the pager, in colour, with control characters shown and not obeyed', async () => {
    const lines = Array.from({ length: 60 }, (_, n) => `line ${n}\n`).join('');
    await project.plan(planOf(createAction('long.txt', `${lines}\u001b[7m\n`), editAction('src/app.ts', '1', '2')));
    const run = runInTerminal(['session', 'execute', '--dry-run'], {
      cwd: project.repo.root,
      env: { ...project.env, GIT_PAGER: 'sed s/^/paged:/' },
    });
    expect(await run.exitCode).toBe(0);
    expect(run.raw()).toContain('paged:\u001b[32m+line 59\u001b[39m');
    expect(run.raw()).toContain('+␛[7m');
    expect(run.raw()).toContain('\u001b[7m2\u001b[27m');
  });
});
