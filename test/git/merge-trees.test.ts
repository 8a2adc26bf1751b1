/** git merges trees and fast-forwards, and leaves the rest alone. */
import { chmod, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRepository, type OpenedRepository } from '../../src/git/repository.ts';
import { parseOid, type Oid, type RefName } from '../../src/names.ts';
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

/** Two sides of the first commit, each made by what is done in the work tree. */
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
  test('merge as git merges: renames, lines, deletions, modes and links, with no file of the user touched', async () => {
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

  test('in conflict are named once each, also one that a side has deleted', async () => {
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

  describe('onto files that are there already', () => {
    /** A commit ahead of main, as an agent leaves it: all of it is in the work tree, and nothing of it in the index. */
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
    const path = (name: string) => join(scratch.root, name);
    async function expectClean(commit: string): Promise<void> {
      expect(await scratch.git('rev-parse', 'main', 'HEAD')).toBe(`${commit}\n${commit}`);
      expect(await scratch.git('status', '--porcelain', '--untracked-files=all')).toBe('');
      // git need not look into one of them again.
      expect(await scratch.git('diff-files', '--name-only')).toBe('');
    }

    test('leaves those as they are that are equal: edits, new, ignored, deleted, links, modes, files become directories', async () => {
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

    test('compares them as git does where line ends or a filter make another file of a blob', async () => {
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
      // The filter was not there yet when the tree was made.
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
      ['the mode of a new file', [() => chmod(path('new.txt'), 0o755)], 'new.txt'],
      ['a link', [() => rm(path('link')), () => symlink('gone.txt', path('link'))], 'link'],
      ['a directory in place of a file', [() => rm(path('new.txt')), () => scratch.write('new.txt/x', 'x')], 'new.txt'],
      ['what is staged', [() => stage('edited.txt', 'staged\n')], 'edited.txt'],
      ['what is staged of a new file', [() => stage('new.txt', 'staged\n')], 'new.txt'],
      ['a deletion that is staged alone', [() => scratch.git('rm', '--quiet', '--cached', 'edited.txt')], 'edited.txt'],
    ])('refuses it where %s differs, names only that, and changes nothing', async (_, spoil, name) => {
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
      expect(error).toMatchObject({ code: 'FILES_IN_THE_WAY', message: expect.stringContaining(name) });
      expect(String(error)).not.toContain('equal.txt');
      expect(await scratch.fingerprint()).toEqual(before);
      expect(await scratch.list('.git/teddy')).toEqual([]);
      await scratch.write('.git/info/exclude', '');
    });

    /** The index gets another content than the work tree has. */
    async function stage(name: string, text: string): Promise<void> {
      const kept = await scratch.read(name);
      await scratch.write(name, text);
      await scratch.git('add', name);
      await scratch.write(name, kept);
    }

    test('keeps what is staged as it was elsewhere, and takes what is staged equal', async () => {
      const ahead = await workAhead(() => scratch.write('new.txt', 'new\n'));
      await stage('run.sh', 'staged\n');
      await scratch.git('add', '--intent-to-add', 'new.txt');
      await forward(ahead);
      expect(await scratch.git('status', '--porcelain')).toBe('MM run.sh');
      expect(await scratch.git('show', ':run.sh')).toBe('staged');
    });

    test('does so on a branch without a commit, and as a switch', async () => {
      const ahead = await workAhead(() => scratch.write('new.txt', 'new\n'));
      await scratch.git('branch', '--force', 'other', ahead);
      await repository.workspace?.switchTo('refs/heads/other' as RefName);
      expect(await scratch.git('status', '--porcelain', '--branch')).toBe('## other');
      await scratch.git('symbolic-ref', 'HEAD', 'refs/heads/unborn');
      await scratch.git('read-tree', '--empty');
      await forward(ahead);
      expect(await scratch.git('status', '--porcelain', '--branch')).toBe('## unborn');
    });
  });
});
