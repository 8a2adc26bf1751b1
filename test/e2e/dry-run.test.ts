/** `teddy execute --dry-run`: all that the plan would do, and not a byte of the repository is another one afterwards. */
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
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
