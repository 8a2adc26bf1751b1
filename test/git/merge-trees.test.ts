/** git merges trees and fast-forwards, and leaves the rest alone. */
import { chmod, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRepository, type OpenedRepository } from '../../src/git/repository.ts';
import { parseOid, type Oid } from '../../src/names.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let scratch: ScratchRepository;
let repository: OpenedRepository;
let first: string;

const lines = (text: string) => `${text.split(' ').join('\n')}\n`;

beforeAll(async () => {
  const files = {
    'a.txt': lines('a b c d e f g'),
    'old.txt': lines('one two three four five'),
    'gone.txt': 'gone\n',
    'run.sh': 'echo\n',
    'log.union': lines('begin end'),
  };
  scratch = await makeScratchRepository(files);
  first = await scratch.git('rev-parse', 'HEAD');
  repository = await openRepository({ cwd: scratch.root, env: process.env });
});
afterAll(async () => {
  await repository.close();
  await scratch.close();
});

const treeOf = async (commit: string) => parseOid(await scratch.git('rev-parse', `${commit}^{tree}`));
const show = (tree: Oid | null, path: string) => scratch.git('show', `${tree}:${path}`);

/** Two sides from the first commit, each made by these changes in the work tree. */
async function makeSides(...sides: (() => Promise<unknown>)[]): Promise<[Oid, Oid, Oid]> {
  const trees = [await treeOf(first)];
  for (const make of sides) {
    await scratch.git('checkout', '--quiet', '--detach', first);
    await make();
    await scratch.git('add', '--all');
    await scratch.git('commit', '--quiet', '--message=side');
    trees.push(await treeOf('HEAD'));
  }
  await scratch.git('checkout', '--quiet', 'main');
  return trees as [Oid, Oid, Oid];
}

describe('trees', () => {
  test('merge like git: renames, lines, deletions, modes and links, without touching the user’s files', async () => {
    const sides = await makeSides(
      async () => {
        await scratch.git('mv', 'old.txt', 'new.txt');
        await scratch.write('a.txt', lines('A b c d e f g'));
        await rm(join(scratch.root, 'gone.txt'));
      },
      async () => {
        await scratch.write('old.txt', lines('one two three four FIVE'));
        await scratch.write('a.txt', lines('a b c d e f G'));
        await chmod(join(scratch.root, 'run.sh'), 0o755);
        await symlink('a.txt', join(scratch.root, 'link'));
      },
    );
    await scratch.write('a.txt', 'an edit of mine\n');
    await scratch.write('staged.txt', 'staged\n');
    await scratch.git('add', 'staged.txt');
    const before = await scratch.fingerprint();
    const { tree, conflicts } = await repository.store.mergeTrees(...sides);
    expect(conflicts).toEqual([]);
    expect(await scratch.fingerprint()).toEqual(before);
    expect(await show(tree, 'new.txt')).toBe('one\ntwo\nthree\nfour\nFIVE');
    expect(await show(tree, 'a.txt')).toBe('A\nb\nc\nd\ne\nf\nG');
    expect((await scratch.git('ls-tree', '--format=%(objectmode) %(path)', String(tree))).split('\n')).toEqual([
      '100644 a.txt',
      '120000 link',
      '100644 log.union',
      '100644 new.txt',
      '100755 run.sh',
    ]);
    await scratch.git('rm', '--quiet', '--force', 'staged.txt');
    await scratch.git('checkout', '--quiet', '--', '.');
  });

  test('in conflict are named once each, even if one side has deleted the file', async () => {
    const sides = await makeSides(
      async () => {
        await scratch.write('a.txt', 'ours\n');
        await rm(join(scratch.root, 'gone.txt'));
        await scratch.write('Tür ü.txt', 'ours\n');
      },
      async () => {
        await scratch.write('a.txt', 'theirs\n');
        await scratch.write('gone.txt', 'theirs\n');
        await scratch.write('Tür ü.txt', 'theirs\n');
      },
    );
    expect(await repository.store.mergeTrees(...sides)).toEqual({
      tree: null,
      conflicts: ['Tür ü.txt', 'a.txt', 'gone.txt'],
    });
  });

  test('are merged by the driver that the user has set for a file, in a bare clone too', async () => {
    const add = (word: string) => () => scratch.write('log.union', lines(`begin ${word} end`));
    const sides = await makeSides(add('ours'), add('theirs'));
    expect((await repository.store.mergeTrees(...sides)).tree).toBeNull();
    await scratch.write('.git/info/attributes', '*.union merge=union\n');
    const { tree } = await repository.store.mergeTrees(...sides);
    expect(await show(tree, 'log.union')).toBe('begin\nours\ntheirs\nend');
    const bare = await openRepository({ cwd: join(scratch.root, '.git'), env: process.env });
    expect((await bare.store.mergeTrees(...sides)).tree).toBe(tree);
    await bare.close();
  });

  test('that are missing are damage', async () => {
    const tree = await treeOf(first);
    const merged = repository.store.mergeTrees(tree, tree, 'f'.repeat(40) as Oid);
    await expect(merged).rejects.toMatchObject({ code: 'DAMAGED_SESSION' });
  });
});

describe('a fast-forward', () => {
  const forward = async (commit: string) => repository.workspace?.fastForward(parseOid(commit));

  test('moves branch, index and files, keeps edits elsewhere, and obeys no option of the branch', async () => {
    await scratch.git('checkout', '--quiet', '-b', 'ahead', 'main');
    const ahead = await scratch.commit({ 'src/b.ts': 'b\n' });
    await scratch.git('checkout', '--quiet', 'main');
    await scratch.git('config', 'branch.main.mergeOptions', '--squash --no-ff --autostash');
    await scratch.git('config', 'merge.ff', 'false');
    await scratch.git('config', 'merge.verifySignatures', 'true');
    await scratch.write('a.txt', 'mine\n');
    await forward(ahead);
    expect(await scratch.git('rev-parse', 'main', 'HEAD')).toBe(`${ahead}\n${ahead}`);
    expect(await scratch.git('status', '--porcelain')).toBe(' M a.txt');
    expect(await scratch.git('log', '-1', '-g', '--format=%gs', 'main')).toBe(`teddy: Fast-forward`);
  });

  test('over edits, staged or not, and untracked or ignored files is refused, and changes nothing', async () => {
    const main = await scratch.git('rev-parse', 'main');
    await scratch.git('stash', '--quiet');
    await scratch.git('checkout', '--quiet', '-b', 'further', 'main');
    const further = await scratch.commit({ 'a.txt': 'further\n', 'new.log': 'new\n' });
    await scratch.git('checkout', '--quiet', 'main');
    await scratch.git('stash', 'pop', '--quiet');
    const refused = async (code: string, commit = further) => {
      const before = await scratch.fingerprint();
      await expect(forward(commit)).rejects.toMatchObject({ code, hint: expect.any(String) });
      expect(await scratch.fingerprint()).toEqual(before);
    };
    await refused('FILES_IN_THE_WAY');
    await scratch.git('add', 'a.txt');
    await refused('FILES_IN_THE_WAY');
    await scratch.git('reset', '--quiet', '--hard');
    await scratch.write('new.log', 'mine\n');
    await refused('FILES_IN_THE_WAY');
    await scratch.write('.git/info/exclude', '*.log\n');
    await refused('FILES_IN_THE_WAY');
    await rm(join(scratch.root, 'new.log'));
    await scratch.write('.git/index.lock', '');
    await refused('LOCKED');
    await rm(join(scratch.root, '.git/index.lock'));
    await scratch.write('.git/refs/heads/main.lock', '');
    await refused('LOCKED');
    await rm(join(scratch.root, '.git/refs/heads/main.lock'));
    await scratch.commit({ 'c.txt': 'c\n' });
    await refused('REF_MOVED');
    expect(await scratch.git('rev-parse', 'main~1')).toBe(main);
  });
});
