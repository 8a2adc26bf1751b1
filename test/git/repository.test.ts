/** Which repository a command is in, whatever the user's environment and configuration. */
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { Repository } from '../../src/ports/git.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { gitText } from '../support/git-process.ts';
import { publicationOf } from '../support/publication.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let scratch: string;
let repo: ScratchRepository;

beforeAll(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), 'teddy-öpen here-')));
  repo = await makeScratchRepository({ 'a.txt': 'a\n', 'dir/b.txt': 'b\n' });
});
afterAll(async () => {
  await repo.close();
  await rm(scratch, { recursive: true, force: true });
});

async function look<Value>(
  cwd: string,
  env: Record<string, string | undefined>,
  use: (repository: Repository) => Promise<Value> | Value,
): Promise<Value> {
  const repository = await openRepository({ cwd, env: { ...process.env, ...env } });
  try {
    return await use(repository);
  } finally {
    await repository.close();
  }
}
const rootOf = (cwd: string, env: Record<string, string | undefined> = {}) =>
  look(cwd, env, ({ workspace }) => workspace?.root ?? null);

describe('discovery', () => {
  test('a folder below, a link to it, and a name with spaces and umlauts lead to the root', async () => {
    expect(await rootOf(join(repo.root, 'dir'))).toBe(repo.root);
    await symlink(join(repo.root, 'dir'), join(scratch, 'link'));
    expect(await rootOf(join(scratch, 'link'))).toBe(repo.root);
    const odd = join(scratch, 'a  b ü\t日本');
    await repo.git('clone', '--quiet', repo.root, odd);
    expect(await rootOf(odd)).toBe(odd);
  });

  test('a bare repository has objects and refs, and no work tree', async () => {
    const bare = join(scratch, 'bare.git');
    await repo.git('clone', '--quiet', '--bare', repo.root, bare);
    expect(await rootOf(bare)).toBeNull();
    const oid = await repo.git('rev-parse', 'HEAD');
    expect(await look(bare, {}, ({ store }) => store.resolve('main'))).toBe(oid);
    await repo.git(`--git-dir=${bare}`, 'worktree', 'add', '--quiet', join(scratch, 'of bare'), 'main');
    expect(await look(bare, {}, (repository) => repository.workTrees())).toEqual([
      { root: join(scratch, 'of bare'), ref: 'refs/heads/main' },
    ]);
  });

  test("the user's GIT_DIR and GIT_WORK_TREE count, even relative ones, but no other variables", async () => {
    const elsewhere = join(scratch, 'elsewhere');
    await mkdir(elsewhere);
    const there = { GIT_DIR: join(repo.root, '.git'), GIT_WORK_TREE: elsewhere };
    expect(await rootOf(scratch, there)).toBe(elsewhere);
    expect(await look(scratch, there, (repository) => repository.workTrees())).toEqual([
      { root: elsewhere, ref: 'refs/heads/main' },
    ]);
    expect(await rootOf(repo.root, { GIT_DIR: '.git' })).toBe(repo.root);

    const before = await repo.fingerprint();
    const away = {
      GIT_INDEX_FILE: join(scratch, 'wrong-index'),
      GIT_OBJECT_DIRECTORY: join(scratch, 'wrong-objects'),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(scratch, 'wrong'),
      GIT_NAMESPACE: 'wrong',
      GIT_LITERAL_PATHSPECS: '1',
      GIT_TRACE: join(scratch, 'trace'),
      GIT_PREFIX: 'wrong/',
    };
    const blob = await look(repo.root, away, async ({ store, workspace }) => {
      const batch = store.batch();
      const oid = await batch.blob('where does it go?');
      await batch.flush();
      expect((await workspace?.status({ untracked: true }))?.edits).toEqual([]);
      expect(await workspace?.snapshotTree([])).toBe(await repo.git('rev-parse', 'HEAD^{tree}'));
      expect(await store.listRefs('refs/heads/')).toHaveLength(1);
      return oid;
    });
    expect(await repo.git('cat-file', 'blob', blob)).toBe('where does it go?');
    expect(await repo.fingerprint()).toEqual(before);
    await expect(readFile(join(scratch, 'trace'))).rejects.toThrow('ENOENT');
  });

  test('a submodule is a separate repository, with its work tree in place', async () => {
    const outer = await makeScratchRepository();
    await outer.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', repo.root, 'sub');
    const sub = join(outer.root, 'sub');
    expect(await rootOf(sub)).toBe(sub);
    await look(sub, {}, async (repository) => {
      expect(await repository.workTrees()).toEqual([{ root: sub, ref: 'refs/heads/main' }]);
      expect((await repository.openWorkspace(sub)).root).toBe(sub);
      expect(await repository.workspace?.head()).toMatchObject({ ref: 'refs/heads/main' });
    });
    await outer.git('commit', '--quiet', '-m', 'sub');
    await outer.close();
  });

  test('a missing repository, or the ceiling, is reported', async () => {
    await expect(rootOf(scratch)).rejects.toMatchObject({
      code: 'NOT_A_REPOSITORY',
      message: expect.stringMatching(/nor is any folder above/) as string,
    });
    const ceiling = { GIT_CEILING_DIRECTORIES: repo.root };
    await expect(rootOf(join(repo.root, 'dir'), ceiling)).rejects.toMatchObject({ code: 'NOT_A_REPOSITORY' });
  });

  test('a repository that git does not trust, or cannot read, is refused with a useful message', async () => {
    const dir = await fakeGit(`GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec ${realGit} "$@"`);
    await expect(rootOf(repo.root, { PATH: `${dir}:${process.env['PATH']}` })).rejects.toMatchObject({
      code: 'NOT_A_REPOSITORY',
      message: expect.stringMatching(/dubious ownership/) as string,
      hint: expect.stringContaining('git config --global --add safe.directory') as string,
    });
    const broken = await makeScratchRepository();
    await writeFile(join(broken.root, '.git/config'), '[core\n', { flag: 'a' });
    await expect(rootOf(broken.root)).rejects.toMatchObject({
      code: 'NOT_A_REPOSITORY',
      message: expect.stringMatching(/cannot open this repository: .*bad config line/) as string,
    });
    await rm(broken.root, { recursive: true });
  });

  test('a repository whose path has a line break is refused with a useful message', async () => {
    for (const bare of [false, true]) {
      const dir = join(repo.root, `line\nbreak-${bare}`);
      await repo.git('init', '--quiet', ...(bare ? ['--bare'] : []), dir);
      await expect(rootOf(dir)).rejects.toMatchObject({
        code: 'NOT_A_REPOSITORY',
        message: expect.stringContaining('contains a line break') as string,
      });
      await rm(dir, { recursive: true });
    }
  });

  test('a missing git, an old git and a missing folder are three different errors', async () => {
    await expect(rootOf(repo.root, { PATH: '/nowhere' })).rejects.toMatchObject({ code: 'GIT_MISSING' });
    const dir = await fakeGit('case "$*" in *version*) echo git version 2.37.9;; *) echo --unknown; exit 129;; esac');
    await expect(rootOf(repo.root, { PATH: `${dir}:${process.env['PATH']}` })).rejects.toMatchObject({
      code: 'GIT_TOO_OLD',
      message: 'teddy needs git 2.38 or newer; this is git version 2.37.9.',
    });
    const older = await fakeGit(
      `case "$*" in *version*) echo git version 2.37.9;; *cat-file*) exit 129;; *) exec ${realGit} "$@";; esac`,
    );
    const opened = await openRepository({
      cwd: repo.root,
      env: { ...process.env, PATH: `${older}:${process.env['PATH']}` },
    });
    await expect(opened.store.resolve('HEAD')).rejects.toMatchObject({ code: 'GIT_TOO_OLD' });
    await opened.close();
    await expect(rootOf(join(scratch, 'gone'))).rejects.toMatchObject({
      code: 'NO_WORK_TREE',
      message: expect.stringMatching(/no longer exists/) as string,
    });
  });
});

const realGit = gitText('.', ['--exec-path']).replace(/\/libexec\/git-core$|\/lib\/git-core$/, '/bin/git');

async function fakeGit(script: string): Promise<string> {
  const dir = await mkdtemp(join(scratch, 'bin-'));
  await writeFile(join(dir, 'git'), `#!/bin/sh\n${script}\n`);
  await chmod(join(dir, 'git'), 0o755);
  return dir;
}

test('the tips of a remote with very many sessions are passed to git, although they exceed a command line', async () => {
  const { store, close } = await openRepository({ cwd: repo.root, env: process.env });
  const head = (await store.resolve('HEAD')) as Oid;
  const next = (await repo.git('commit-tree', `${head}^{tree}`, '-p', head, '-m', 'Next')) as Oid;
  const walked: Oid[] = [];
  for await (const { oid } of store.walkChanges(
    next,
    Array.from({ length: 100_000 }, () => head),
  ))
    walked.push(oid);
  expect(walked).toEqual([next]);
  await close();
});

test('a commit is read once, unless its message is long', async () => {
  const { store, close } = await openRepository({ cwd: repo.root, env: process.env });
  const head = await store.resolve('HEAD');
  const long = (await repo.git('commit-tree', `${head}^{tree}`, '-m', 'x'.repeat(5000))) as Oid;
  for (const [oid, isKept] of [
    [head as Oid, true],
    [long, false],
  ] as const) {
    const first = await store.readCommit(oid);
    const again = await store.readCommit(oid);
    expect([again, again === first]).toEqual([first, isKept]);
  }
  await close();
});

test('HEAD is read once at the start if that is allowed, and afterwards where it is now', async () => {
  const place = join(scratch, 'at once');
  await repo.git('init', '--quiet', '-b', 'unborn', place);
  const other = openScratchRepository(place);
  const env = { ...process.env };
  const heads = async (move: () => Promise<unknown>) => {
    const { workspace, close } = await openRepository({ cwd: place, env, trustsHead: 'once' });
    await move();
    try {
      return [workspace?.root, await workspace?.head(), await workspace?.head()];
    } finally {
      await close();
    }
  };
  const none = { ref: 'refs/heads/unborn', oid: null };
  expect(await heads(async () => undefined)).toEqual([place, none, none]);
  const oid = await other.commit({ 'a.txt': 'a\n' });
  const moved = await heads(() => other.git('switch', '--quiet', '-c', 'next'));
  expect(moved).toEqual([place, { ref: 'refs/heads/unborn', oid }, { ref: 'refs/heads/next', oid }]);
  await other.git('switch', '--quiet', '--detach');
  expect(await heads(async () => undefined)).toEqual([place, { ref: null, oid }, { ref: null, oid }]);
});

test('work trees are listed with their branches; bare, missing and detached ones are marked', async () => {
  const at = (name: string) => join(scratch, name);
  await repo.git('worktree', 'add', '--quiet', at('with  spaces'), '-b', 'spaces');
  await repo.git('worktree', 'add', '--quiet', '--detach', at('detached'));
  await repo.git('worktree', 'add', '--quiet', at('gone'), '-b', 'gone');
  await rm(at('gone'), { recursive: true });
  await repo.git('worktree', 'lock', '--reason', 'a\nreason', at('detached'));
  const expected = [
    { root: repo.root, ref: 'refs/heads/main' },
    { root: at('detached'), ref: null },
    { root: at('with  spaces'), ref: 'refs/heads/spaces' },
  ];
  const sorted = async (repository: Repository) =>
    (await repository.workTrees()).toSorted((a, b) => (a.root === repo.root ? -1 : a.root < b.root ? -1 : 1));
  expect(await look(repo.root, {}, sorted)).toEqual(expected);
  expect(await look(at('with  spaces'), {}, sorted)).toEqual(expected);
  await look(at('with  spaces'), {}, async ({ openWorkspace }) => {
    expect((await (await openWorkspace(repo.root)).head()).ref).toBe('refs/heads/main');
    await expect(openWorkspace(at('gone'))).rejects.toMatchObject({ code: 'NO_WORK_TREE' });
  });
  await repo.git('worktree', 'unlock', at('detached'));
  for (const name of ['with  spaces', 'detached']) await repo.git('worktree', 'remove', '--force', at(name));
  await repo.git('worktree', 'prune');
});

test('a git operation in progress is named, here and where it holds our line', async () => {
  const own = await makeScratchRepository({ 'a.txt': 'base\n' });
  await own.git('switch', '--quiet', '-c', 'side');
  await own.commit({ 'a.txt': 'side\n' }, 'Side');
  await own.git('switch', '--quiet', 'main');
  await own.commit({ 'a.txt': 'main\n' }, 'Main');
  const side = 'refs/heads/side' as RefName;
  await look(own.root, {}, async ({ workspace }) => {
    const starts: [string, string[], string[]][] = [
      ['merge', ['merge', 'side'], ['merge', '--abort']],
      ['rebase', ['rebase', 'side'], ['rebase', '--abort']],
      ['rebase', ['rebase', '--apply', 'side'], ['rebase', '--abort']],
      ['cherry-pick', ['cherry-pick', 'side'], ['cherry-pick', '--abort']],
      ['revert', ['revert', '--no-edit', 'side'], ['revert', '--abort']],
      ['bisect', ['bisect', 'start'], ['bisect', 'reset']],
    ];
    for (const [name, start, abort] of starts) {
      expect(await workspace?.operationInProgress(null)).toBeNull();
      await own.gitSucceeds(...start);
      expect(await workspace?.operationInProgress(null)).toBe(name);
      await own.gitSucceeds(...abort);
    }
    const linked = join(scratch, 'rebasing');
    await own.git('worktree', 'add', '--quiet', linked, 'side');
    expect(await workspace?.operationInProgress(side)).toBeNull();
    for (const backend of ['--merge', '--apply']) {
      expect(await openScratchRepository(linked).gitSucceeds('rebase', backend, 'main')).toBe(false);
      expect(await workspace?.operationInProgress(side)).toBe('rebase of side');
      expect(await workspace?.operationInProgress(null)).toBeNull();
      await openScratchRepository(linked).git('rebase', '--abort');
    }
    await own.git('worktree', 'remove', '--force', linked);
  });
  await own.close();
});

test("the marked block appears once, at the end where it wins, with the user's lines unchanged", async () => {
  const file = join(repo.root, '.git/info/attributes');
  const install = () => look(repo.root, {}, (repository) => repository.installAttributes());
  await install();
  const block = await readFile(file, 'latin1');
  const blocks = (text: string) => text.split('# teddy: begin').length - 1;
  await install();
  expect(await readFile(file, 'latin1')).toBe(block);
  const mine = '*.txt text # \xe4\xff\r\n* text=auto';
  await writeFile(file, `${mine}`, 'latin1');
  await install();
  expect(await readFile(file, 'latin1')).toBe(`${mine}\n${block}`);
  await look(repo.root, {}, (repository) => repository.removeAttributes());
  expect(await readFile(file, 'latin1')).toBe(mine);
  await writeFile(file, `${block}* text=auto eol=crlf\n`, 'latin1');
  await install();
  expect(await readFile(file, 'latin1')).toBe(`* text=auto eol=crlf\n${block}`);
  await writeFile(file, `${block.split('\n')[0]}\nmine text\n`, 'latin1');
  await install();
  expect(blocks(await readFile(file, 'latin1'))).toBe(1);
  expect(await readFile(file, 'latin1')).toContain('mine text\n');
  expect(await repo.git('check-attr', 'text', 'diff', '--', '.teddy/sessions/x/01/_context.log')).toBe(
    '.teddy/sessions/x/01/_context.log: text: unset\n.teddy/sessions/x/01/_context.log: diff: unset',
  );
  await rm(file);
});

test('no user setting changes what is read or written', async () => {
  const own = await makeScratchRepository({ 'ü "q".txt': 'a\n', 'a.txt': 'a\n', 'gone.txt': 'g\n', 'mine.txt': 'm\n' });
  await own.write('hook', '#!/bin/sh\nprintf "/\\0"\n');
  await chmod(join(own.root, 'hook'), 0o755);
  await own.write('.git/order', '*.txt\n');
  const settings = [
    'core.quotePath=true',
    'status.showUntrackedFiles=no',
    'status.relativePaths=true',
    'status.branch=true',
    'status.showStash=true',
    'status.short=true',
    'status.renames=copies',
    'diff.renames=copies',
    'diff.noprefix=true',
    'diff.external=false',
    'diff.orderFile=.git/order',
    'diff.ignoreSubmodules=all',
    'color.ui=always',
    'core.abbrev=5',
    'core.untrackedCache=true',
    `core.fsmonitor=${join(own.root, 'hook')}`,
    'core.fsmonitorHookVersion=1',
    'core.logAllRefUpdates=false',
    'core.pager=false',
    'pager.status=false',
    'submodule.recurse=true',
    'push.default=nothing',
    'log.showSignature=true',
    'log.decorate=full',
    'commit.gpgSign=true',
    'gpg.program=false',
    'column.ui=always',
    'grep.lineNumber=true',
    'i18n.logOutputEncoding=ISO-8859-1',
    'advice.statusHints=false',
    'add.ignoreErrors=true',
    'gc.auto=1',
    'alias.status=!false',
    'alias.update-ref=!false',
    'worktree.guessRemote=true',
    'checkout.guess=false',
  ];
  for (const setting of settings) await own.git('config', ...(setting.split(/=(.*)/s).slice(0, 2) as [string, string]));
  await own.write('ü "q".txt', 'b\n');
  await own.write('dir/new ü.txt', 'n\n');
  await look(own.root, {}, async (repository) => {
    const { store, workspace } = repository;
    if (!workspace) throw new Error('There is no work tree.');
    const status = await workspace.status({ untracked: true });
    expect(status.edits.map((edit) => [edit.path, edit.staged + edit.unstaged])).toEqual([['ü "q".txt', '.M']]);
    expect(status.untracked).toEqual(['dir/new ü.txt', 'hook']);
    const head = await workspace.head();
    if (head.oid === null) throw new Error('There is no commit.');
    const tree = await workspace.snapshotTree([]);
    expect((await store.diffTrees(head.oid, tree)).map((change) => change.path)).toEqual(['ü "q".txt']);
    const planned = await workspace.treeOfPaths(head.oid, [path('dir/new ü.txt')]);
    expect((await store.diffTrees(head.oid, planned)).map((change) => change.path)).toEqual(['dir/new ü.txt']);
    expect((await store.listTree(planned)).map((file) => file.path)).toEqual([
      'a.txt',
      'dir/new ü.txt',
      'gone.txt',
      'mine.txt',
      'ü "q".txt',
    ]);
    expect(await store.listRefs('refs/heads/')).toMatchObject([{ ref: 'refs/heads/main', oid: head.oid }]);
    expect((await store.ident()).author).toMatch(/^Ada Example <ada@example\.org> \d+ [+-]\d{4}$/);
    expect(await store.setting('color.ui')).toBe('always');
    expect(await repository.workTrees()).toEqual([{ root: own.root, ref: 'refs/heads/main' }]);
    await own.git('checkout', '--', '.');
    expect(await workspace.publish(await publicationOf(repository))).toBe('done');
    const oids = [];
    for await (const { oid } of store.firstParents((await workspace.head()).oid ?? head.oid, [head.oid]))
      oids.push(oid);
    expect(oids).toEqual([(await workspace.head()).oid]);
    expect(await workspace.repair()).toEqual([]);
    await rm(join(own.root, '.git/order'));
    expect((await workspace.status({ untracked: true })).unmerged).toEqual([]);
    const query = { path: path('a.txt'), commit: head.oid, ranges: [], grafts: new Map() };
    expect(await repository.blame.lines(query)).toHaveLength(1);
    expect(await repository.blame.findMarked(['First'], [head.oid], [])).toHaveLength(1);
  });
  await own.git('config', 'gpg.program', 'true');
  await own.close();
});
