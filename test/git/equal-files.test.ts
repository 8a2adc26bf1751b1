/** A fast-forward or a switch onto files that exist already, as after an agent's work on another branch. */
import { execFileSync } from 'node:child_process';
import { chmod, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRepository, type OpenedRepository } from '../../src/git/repository.ts';
import { parseOid, type RefName } from '../../src/names.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let scratch: ScratchRepository;
let repository: OpenedRepository;
let first: string;

beforeAll(async () => {
  scratch = await makeScratchRepository({ 'a.txt': 'a\n' });
  first = await scratch.git('rev-parse', 'HEAD');
  repository = await openRepository({ cwd: scratch.root, env: process.env });
});
afterAll(async () => {
  await repository.close();
  await scratch.close();
});

const forward = async (commit: string) => repository.workspace?.fastForward(parseOid(commit));
const treeOf = async (commit: string) => parseOid(await scratch.git('rev-parse', `${commit}^{tree}`));
const path = (name: string) => join(scratch.root, name);

/** A commit ahead of main, as an agent leaves it: all of it is in the work tree, and none of it in the index. */
async function workAhead(work: () => Promise<unknown>, before: Record<string, string> = {}): Promise<string> {
  await scratch.git('checkout', '--quiet', '--force', '-B', 'main', first);
  await scratch.git('clean', '--quiet', '-dfx');
  await scratch.commit({ 'edited.txt': 'before\n', 'gone.txt': 'gone\n', 'run.sh': 'echo\n', ...before });
  await work();
  await scratch.git('add', '--all', '--force');
  const tree = await scratch.git('write-tree');
  await scratch.git('reset', '--quiet', 'main');
  return scratch.git('commit-tree', tree, '-p', 'main', '-m', 'Ahead');
}
async function expectClean(commit: string): Promise<void> {
  expect(await scratch.git('rev-parse', 'main', 'HEAD')).toBe(`${commit}\n${commit}`);
  expect(await scratch.git('status', '--porcelain', '--untracked-files=all')).toBe('');
  // git need not look into one of them again.
  expect(await scratch.git('diff-files', '--name-only')).toBe('');
}

test('a fast-forward keeps files that are equal: edits, new, ignored, deleted, links, modes, files become directories', async () => {
  const ahead = await workAhead(
    async () => {
      await scratch.write('edited.txt', 'after!\n');
      await scratch.write('new dir/new.txt', 'new\n');
      await scratch.write('ignored.log', 'ignored\n');
      await rm(path('gone.txt'));
      await chmod(path('run.sh'), 0o755);
      await rm(path('a.txt'));
      await symlink('edited.txt', path('a.txt'));
      await rm(path('becomes'));
      await scratch.write('becomes/a directory.txt', 'x\n');
    },
    { becomes: 'a file\n' },
  );
  await scratch.write('.git/info/exclude', '*.log\n');
  await scratch.write('mine.txt', 'mine\n');
  await repository.workspace?.rehearse(await treeOf(ahead));
  const { workTree: before } = await scratch.fingerprint();
  const written = await stat(path('edited.txt'), { bigint: true });
  await forward(ahead);
  await rm(path('mine.txt'));
  await expectClean(ahead);
  expect(await stat(path('edited.txt'), { bigint: true })).toMatchObject({
    ino: written.ino,
    ctimeNs: written.ctimeNs,
  });
  const { workTree: after } = await scratch.fingerprint();
  expect({ ...after, 'mine.txt': before['mine.txt'] }).toEqual(before);
  await scratch.write('.git/info/exclude', '');
});

test('a fast-forward compares files like git if line ends or a filter make another file from a blob', async () => {
  const ahead = await workAhead(
    async () => {
      await scratch.write('dos.txt', 'one\r\ntwo\r\n');
      await scratch.write('unix.txt', 'one\ntwo\n');
      await scratch.write('upper.up', 'SHOUTED\n');
    },
    { '.gitattributes': '*.txt text eol=crlf\n*.up filter=up\n', 'dos.txt': 'one\r\n', 'upper.up': 'x\n' },
  );
  await scratch.git('config', 'filter.up.clean', 'tr A-Z a-z');
  await scratch.git('config', 'filter.up.smudge', 'tr a-z A-Z');
  await scratch.git('update-index', '-q', '--refresh').catch(() => undefined);
  // The filter did not exist yet when the tree was made.
  const made = await scratch.git('hash-object', '-w', '--path=upper.up', path('upper.up'));
  await scratch.git('read-tree', ahead);
  await scratch.git('update-index', '--cacheinfo', `100644,${made},upper.up`);
  const tree = await scratch.git('write-tree');
  await scratch.git('read-tree', 'main');
  const filtered = await scratch.git('commit-tree', tree, '-p', 'main', '-m', 'Filtered');
  await forward(filtered);
  await expectClean(filtered);
  expect(await scratch.read('unix.txt')).toBe('one\ntwo\n');
  expect(await scratch.git('show', 'HEAD:upper.up')).toBe('shouted');
});

test.each<[string, (() => Promise<unknown>)[], string]>([
  ['a byte of an edited file', [() => scratch.write('edited.txt', 'AFTER\n')], 'edited.txt'],
  ['a new file', [() => scratch.write('new.txt', 'mine\n')], 'new.txt'],
  ['an ignored file', [() => scratch.write('new.log', 'mine\n')], 'new.log'],
  ['a new file’s mode', [() => chmod(path('new.txt'), 0o755)], 'new.txt'],
  ['a link', [() => rm(path('link')), () => symlink('gone.txt', path('link'))], 'link'],
  ['a directory in place of a file', [() => rm(path('new.txt')), () => scratch.write('new.txt/x', 'x')], 'new.txt'],
  ['a staged change', [() => stage('edited.txt', 'staged\n')], 'edited.txt'],
  ['a new file’s staged content', [() => stage('new.txt', 'staged\n')], 'new.txt'],
  ['a deletion that is only staged', [() => scratch.git('rm', '--quiet', '--cached', 'edited.txt')], 'edited.txt'],
])(
  'a fast-forward is refused if %s differs, which is the only one named, and changes nothing',
  async (_, spoil, name) => {
    const ahead = await workAhead(async () => {
      await scratch.write('edited.txt', 'after\n');
      await scratch.write('new.txt', 'new\n');
      await scratch.write('new.log', 'new\n');
      await scratch.write('equal.txt', 'equal\n');
      await symlink('edited.txt', path('link'));
    });
    await scratch.write('.git/info/exclude', '*.log\n');
    for (const step of spoil) await step();
    const before = await scratch.fingerprint();
    const error = await forward(ahead).then(String, (reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'FILES_IN_THE_WAY',
      message: `main was not fast-forwarded: ${name} is in the way.`,
    });
    expect(String(error)).not.toContain('equal.txt');
    const rehearsed = await repository.workspace
      ?.rehearse(await treeOf(ahead))
      .then(String, (reason: unknown) => reason);
    expect(rehearsed).toMatchObject({
      code: 'FILES_IN_THE_WAY',
      message: `main would not be fast-forwarded: ${name} is in the way.`,
      hint: (error as { hint: string }).hint,
    });
    expect(await scratch.fingerprint()).toEqual(before);
    expect(await scratch.list('.git/teddy')).toEqual([]);
    const [, stash = 'false'] = /in (?:\/\S+) \(`(git -C \/.+?)`\)/.exec((error as { hint: string }).hint) ?? [];
    execFileSync('sh', ['-c', stash], { cwd: '/', stdio: 'ignore' });
    await repository.workspace?.rehearse(await treeOf(ahead));
    await forward(ahead);
    await scratch.git('stash', 'drop', '--quiet');
    await scratch.write('.git/info/exclude', '');
  },
);

/** The index gets other content than the work tree has. */
async function stage(name: string, text: string): Promise<void> {
  const kept = await scratch.read(name);
  await scratch.write(name, text);
  await scratch.git('add', name);
  await scratch.write(name, kept);
}

test('a fast-forward keeps staged changes elsewhere, and accepts staged content that is equal', async () => {
  const ahead = await workAhead(() => scratch.write('new.txt', 'new\n'));
  await stage('run.sh', 'staged\n');
  await scratch.git('add', '--intent-to-add', 'new.txt');
  await forward(ahead);
  expect(await scratch.git('status', '--porcelain')).toBe('MM run.sh');
  expect(await scratch.git('show', ':run.sh')).toBe('staged');
});

test('equal files are kept on a branch without a commit, and by a switch as well', async () => {
  const ahead = await workAhead(() => scratch.write('new.txt', 'new\n'));
  await scratch.git('branch', '--force', 'other', ahead);
  await repository.workspace?.switchTo('refs/heads/other' as RefName);
  expect(await scratch.git('status', '--porcelain', '--branch')).toBe('## other');
  await scratch.git('symbolic-ref', 'HEAD', 'refs/heads/unborn');
  await scratch.git('read-tree', '--empty');
  await forward(ahead);
  expect(await scratch.git('status', '--porcelain', '--branch')).toBe('## unborn');
});
