/** Only git knows how refs are stored: no process of teddy's own opens, reads, lists or changes them as files. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { canTrace } from '../faults/system-calls.ts';
import { teddyPath } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { createAction, planOf } from '../support/teddy-project.ts';

let repo: ScratchRepository;

afterEach(() => repo.close());

const plan = planOf(createAction('one.txt', '1\n'));
const commands: string[][] = [
  ['session', 'new', 'first'],
  ['session', 'plan', '-m', 'One', '--from', '.git/answer.md'],
  ['session', 'execute', '-y'],
  ['session', 'list'],
  ['session', 'log'],
  ['session', 'show'],
  ['session', 'verify'],
  ['session', 'land'],
  ['session', 'rewind', '01'],
  ['memo', 'add', 'Remember this'],
  ['session', 'new', 'second', '--worktree'],
  ['session', 'new', 'third', '--no-switch'],
  ['session', 'archive', '-s', 'third'],
  ['doctor', '--fix'],
];

/** Whoever reads refs as files looks for a loose one first, and then in the packed ones. */
test('no command of ours touches refs/, packed-refs or HEAD as files', async ({ skip }) => {
  skip(!(await canTrace()), 'strace is not installed');
  repo = await makeScratchRepository({ 'a.txt': 'a\n' });
  await writeFile(join(repo.root, '.git/answer.md'), plan);
  let seen = 0;
  for (const args of commands) {
    await repo.git('pack-refs', '--all');
    const { touched, opened } = await trace(args);
    seen += opened;
    expect(touched, args.join(' ')).toEqual([]);
  }
  // The spy does see what is touched: records, locks, the index.
  expect(seen).toBeGreaterThan(commands.length);
});

/** Traces the threads of our own process below the git directory; the children that became git are left out. */
async function trace(args: string[]): Promise<{ touched: string[]; opened: number }> {
  const dir = join(repo.root, '.git', 'trace');
  await mkdir(dir);
  try {
    const strace = ['-ff', '-qq', '-s', '4096', '-e', 'trace=%file', '-o', join(dir, 'log')];
    await promisify(execFile)('strace', [...strace, process.execPath, teddyPath, ...args], { cwd: repo.root }).catch(
      (error: { code?: number; stderr?: string }) => {
        throw new Error(`teddy ${args.join(' ')}: ${error.code} ${error.stderr}`);
      },
    );
    const rows: string[] = [];
    for (const name of await readdir(dir)) {
      const text = await readFile(join(dir, name), 'utf8');
      // Only the log of our own process names what it was started with; those of its threads start nothing.
      const became = /^execve\(.*= 0$/m.exec(text)?.[0];
      if (became === undefined || became.includes(`"${teddyPath}"`)) rows.push(...text.split('\n'));
    }
    const paths = rows.flatMap((row) => [...row.matchAll(/"([^"]*)"/g)].map(([, path = '']) => ({ row, path })));
    const below = paths.filter(({ path }) => path.includes('/.git/'));
    const isRef = /\/\.git\/(?:worktrees\/[^/]+\/)?(?:refs(?:\/|$)|logs(?:\/|$)|packed-refs|HEAD(?:\.lock)?$|reftable)/;
    return { touched: below.filter(({ path }) => isRef.test(path)).map(({ row }) => row), opened: below.length };
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Since git 2.46. */
const hasReftable = spawnSync('git', ['refs', 'migrate', '-h'], { encoding: 'utf8' }).stdout.includes('--ref-format');

test.runIf(hasReftable)('a session lives in a repository whose refs are tables', async () => {
  repo = await makeScratchRepository({ 'a.txt': 'a\n' });
  // Some versions cannot take the reflogs along.
  await rm(join(repo.root, '.git/logs'), { recursive: true });
  execFileSync('git', ['refs', 'migrate', '--ref-format=reftable'], { cwd: repo.root });
  await writeFile(join(repo.root, '.git/answer.md'), plan);
  for (const args of commands) {
    const { status, stderr } = spawnSync(process.execPath, [teddyPath, ...args], { cwd: repo.root, encoding: 'utf8' });
    expect(status, `${args.join(' ')}: ${stderr}`).toBe(0);
  }
  expect(await repo.git('show', 'main:one.txt')).toBe('1');
  // A lock that nobody of ours has left is waited for, named, and stays.
  const lock = join(repo.root, '.git/reftable/tables.list.lock');
  await writeFile(lock, '');
  const refused = spawnSync(process.execPath, [teddyPath, 'session', 'new', 'third'], {
    cwd: repo.root,
    encoding: 'utf8',
  });
  expect(refused.stderr).toContain('tables.list.lock has been held by another process');
  expect(await readFile(lock, 'utf8')).toBe('');
});
