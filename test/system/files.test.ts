import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { readdirSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, type TestContext } from 'vitest';
import type { RepoPath } from '../../src/names.ts';
import { projectFiles } from '../../src/system/files/files.ts';

let base: string;
let root: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'teddy-files-'));
  root = join(base, 'project');
  await mkdir(join(root, '.git'), { recursive: true });
  await mkdir(join(root, '.teddy'));
  await mkdir(join(root, 'src'));
  await mkdir(join(base, 'elsewhere'));
  await writeFile(join(root, '.git', 'config'), 'git');
  await writeFile(join(root, '.teddy', 'memos.yaml'), 'teddy');
  await writeFile(join(root, 'src', 'a.ts'), 'inside');
  await writeFile(join(base, 'elsewhere', 'secret'), 'outside');
});

afterEach(() => rm(base, { recursive: true, force: true }));

const inspect = (path: string) => projectFiles(root).inspect(path as RepoPath);
const install = (path: string, text: string) => projectFiles(root).install(path as RepoPath, Buffer.from(text));
const installNew = (path: string, text: string) => projectFiles(root).installNew(path as RepoPath, Buffer.from(text));
const link = (path: string, target: string) => symlink(target, join(root, path));
const content = (path: string) => readFile(join(root, path), 'utf8');
const everyName = () => readdir(root, { recursive: true });

const call = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'pipe' });

/** Only root may mount; for others the test is skipped with a notice. */
function mount(context: TestContext, ...args: string[]): void {
  try {
    call('mount', ...args);
  } catch (error) {
    console.warn(`skipped, since nothing can be mounted here: ${context.task.name}: ${String(error)}`);
    context.skip();
  }
}

test('an absolute path belongs to the project if it leads into it, even through a link', async () => {
  const files = projectFiles(root);
  await symlink(root, join(base, 'link'));
  expect(await files.inside(join(root, 'new/b.ts'))).toBe('new/b.ts');
  expect(await files.inside(join(base, 'link/src/a.ts'))).toBe('src/a.ts');
  expect(await files.inside(join(base, 'link/src/new/b.ts'))).toBe('src/new/b.ts');
  for (const path of [`${root}-2/a.ts`, join(base, 'elsewhere/secret'), '/etc/passwd', '/docs/guide.md', base])
    expect(await files.inside(path), path).toBeNull();
});

describe('inspect', () => {
  test('returns a file as its bytes and whether its owner may run it', async () => {
    const bytes = Buffer.from([0, 0xff, 10]);
    await writeFile(join(root, 'run'), bytes, { mode: 0o755 });
    expect(await inspect('run')).toEqual({ kind: 'file', bytes, executable: true });
    expect(await inspect('src/a.ts')).toEqual({ kind: 'file', bytes: Buffer.from('inside'), executable: false });
  });

  test('returns a missing path as absent, even below missing directories', async () => {
    expect(await inspect('new.ts')).toEqual({ kind: 'absent' });
    expect(await inspect('not/yet/new.ts')).toEqual({ kind: 'absent' });
  });

  test('returns a directory as a directory, even the root', async () => {
    expect(await inspect('src')).toEqual({ kind: 'directory' });
    expect(await inspect('.')).toEqual({ kind: 'directory' });
  });

  test('returns a path below a file as blocked by that file, even through a symlink', async () => {
    await link('alias', 'src/a.ts');
    await link('through', 'src/a.ts/deeper');
    expect(await inspect('src/a.ts/b/c')).toEqual({ kind: 'blocked', parent: 'src/a.ts' });
    expect(await inspect('alias/b')).toEqual({ kind: 'blocked', parent: 'alias' });
    expect(await inspect('through')).toEqual({ kind: 'blocked', parent: 'through' });
  });

  test('returns a FIFO and a socket as special without waiting for them', async () => {
    call('mkfifo', join(root, 'fifo'));
    await link('alias', 'fifo');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(root, 'socket'), resolve));
    for (const path of ['fifo', 'alias', 'socket']) expect(await inspect(path), path).toEqual({ kind: 'special' });
    await new Promise((resolve) => server.close(resolve));
  });

  test.each([
    ['relative', '../elsewhere/secret'],
    ['absolute', '/etc/passwd'],
    ['dangling', '../elsewhere/not-yet'],
    ['through a file outside', '../elsewhere/secret/x'],
    ['absolute and dangling', '/not-there/at-all'],
    ['to a directory', '../elsewhere'],
    ['to the project’s parent', '..'],
    ['to a neighbour with the same prefix', '../project-2'],
    ['into .git', '.git/config'],
    ['to .git', '.git'],
    ['into .git, dangling', '.git/hooks/pre-commit'],
    ['into .git in another case', '.GIT/config'],
    ['into .teddy', '.teddy/memos.yaml'],
    ['into .teddy, dangling', 'src/../.teddy/new'],
  ])('returns a symlink as outside: %s', async (_, target) => {
    await link('link', target);
    expect(await inspect('link')).toEqual({ kind: 'outside', link: 'link' });
  });

  test('returns a symlink to a symlink that leads out as outside', async () => {
    await link('src/second', '../../elsewhere/secret');
    await link('first', 'src/second');
    expect(await inspect('first')).toEqual({ kind: 'outside', link: 'first' });
  });

  test('names a parent directory that is a symlink out', async () => {
    await link('src/out', '../../elsewhere');
    expect(await inspect('src/out/secret')).toEqual({ kind: 'outside', link: 'src/out' });
    expect(await inspect('src/out/new/deep')).toEqual({ kind: 'outside', link: 'src/out' });
  });

  test('returns circular symlinks as outside', async () => {
    await link('a', 'b');
    await link('b', 'a');
    await link('self', 'self');
    expect(await inspect('a')).toEqual({ kind: 'outside', link: 'a' });
    expect(await inspect('self/x')).toEqual({ kind: 'outside', link: 'self' });
  });

  test('follows symlinks that stay inside: relative, absolute, chained, to a directory, through the parent', async () => {
    await link('relative', 'src/a.ts');
    await link('absolute', join(root, 'src/a.ts'));
    await link('chained', 'relative');
    await link('lib', 'src');
    await link('around', '../project/src/a.ts');
    for (const path of ['relative', 'absolute', 'chained', 'lib/a.ts', 'around']) {
      expect(await inspect(path), path).toMatchObject({ kind: 'file', bytes: Buffer.from('inside') });
    }
  });

  test.each([
    '.git/config',
    '.GIT/config',
    '.git./x',
    '.git /x',
    'GIT~1/x',
    '.g\u200cit/x',
    '.git::$INDEX_ALLOCATION/x',
  ])('returns a path into .git as outside, however it is spelled: %s', async (path) => {
    expect(await inspect(path)).toEqual({ kind: 'outside', link: path.split('/')[0] });
  });

  test('removes only a killed install’s leftovers', async () => {
    await writeFile(join(root, 'src/.teddy-tmp-0123456789abcdef'), 'half');
    await writeFile(join(root, 'src/.teddy-tmp-mine'), 'mine');
    await projectFiles(root).removeLeftovers('src/new.ts' as RepoPath);
    const names = await readdir(join(root, 'src'));
    expect(names).not.toContain('.teddy-tmp-0123456789abcdef');
    expect(names).toContain('.teddy-tmp-mine');
  });

  test('returns files in an embedded repository as foreign, its .git as well', async () => {
    await mkdir(join(root, 'src/.git'));
    expect(await inspect('src/new.ts')).toEqual({ kind: 'foreign', repository: 'src' });
    expect(await inspect('src/.git/config')).toEqual({ kind: 'foreign', repository: 'src' });
    await expect(projectFiles(root).install('src/new.ts' as RepoPath, Buffer.from('x'))).rejects.toMatchObject({
      code: 'WRITE_FAILED',
    });
  });

  test("returns the root's .teddy as outside in any case", async () => {
    expect(await inspect('.teddy/memos.yaml')).toEqual({ kind: 'outside', link: '.teddy' });
    expect(await inspect('.Teddy/new')).toEqual({ kind: 'outside', link: '.Teddy' });
  });

  test('returns a name that merely begins like .git or .teddy as ordinary', async () => {
    for (const path of ['.gitignore', '.github/x.yml', '.teddyignore', 'src/.teddy/x', 'git', 'git~x']) {
      expect(await inspect(path), path).toEqual({ kind: 'absent' });
    }
  });

  test('finds another name of the same .git directory by its inode', async (context) => {
    const other = join(root, 'innocent');
    await mkdir(other);
    mount(context, '--bind', join(root, '.git'), other);
    try {
      expect(await inspect('innocent/config')).toEqual({ kind: 'outside', link: 'innocent' });
    } finally {
      call('umount', other);
    }
  });

  test('may reach the root through a symlink', async () => {
    await symlink(root, join(base, 'alias'));
    await link('absolute', join(root, 'src/a.ts'));
    const files = projectFiles(join(base, 'alias'));
    expect(await files.inspect('src/a.ts' as RepoPath)).toMatchObject({ kind: 'file' });
    expect(await files.inspect('absolute' as RepoPath)).toMatchObject({ kind: 'file' });
  });

  test('reports a name that the system refuses with its reason', async () => {
    await expect(inspect('x'.repeat(300))).rejects.toMatchObject({
      code: 'ACTION_FAILED',
      message: expect.stringContaining('name too long (ENAMETOOLONG)'),
    });
  });
});

describe('install', () => {
  test('makes a file with its parents, with the umask’s modes', async () => {
    await install('new/deep/b.ts', 'text');
    expect(await content('new/deep/b.ts')).toBe('text');
    expect((await stat(join(root, 'new/deep/b.ts'))).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(await readdir(join(root, 'new/deep'))).toEqual(['b.ts']);
  });

  test.each([0o755, 0o444, 0o600])('keeps the mode %o of a file that it replaces', async (mode) => {
    await chmod(join(root, 'src/a.ts'), mode);
    await install('src/a.ts', 'changed');
    expect(await content('src/a.ts')).toBe('changed');
    expect((await stat(join(root, 'src/a.ts'))).mode & 0o777).toBe(mode);
  });

  test('replaces the old file with a new one instead of writing into it', async () => {
    const before = await stat(join(root, 'src/a.ts'));
    await install('src/a.ts', 'changed');
    expect((await stat(join(root, 'src/a.ts'))).ino).not.toBe(before.ino);
  });

  test('writes through a symlink inside the project and keeps the link', async () => {
    await link('alias', 'src/a.ts');
    await link('later', 'src/made/later.ts');
    await install('alias', 'changed');
    await install('later', 'made');
    expect(await readlink(join(root, 'alias'))).toBe('src/a.ts');
    expect(await content('src/a.ts')).toBe('changed');
    expect((await lstat(join(root, 'later'))).isSymbolicLink()).toBe(true);
    expect(await content('src/made/later.ts')).toBe('made');
  });

  test('writes nothing through a symlink that leads out, into .git or into .teddy', async () => {
    await link('out', '../elsewhere/new');
    await link('outdir', '../elsewhere');
    await link('hook', '.git/hooks/pre-commit');
    for (const path of ['out', 'outdir/new', 'hook', '.git/config', '.teddy/memos.yaml']) {
      await expect(install(path, 'x'), path).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    }
    expect(await readdir(join(base, 'elsewhere'))).toEqual(['secret']);
    expect(await readdir(join(root, '.git'))).toEqual(['config']);
    expect([await content('.git/config'), await content('.teddy/memos.yaml')]).toEqual(['git', 'teddy']);
  });

  test('refuses a directory, a FIFO or a file as parent with the reason, and leaves nothing behind', async () => {
    call('mkfifo', join(root, 'fifo'));
    const before = await everyName();
    await expect(install('src', 'x')).rejects.toThrow('src could not be written: it is a directory.');
    await expect(install('fifo', 'x')).rejects.toThrow('it is a device, a socket or a FIFO');
    await expect(install('src/a.ts/b', 'x')).rejects.toThrow('src/a.ts is not a directory');
    expect(await everyName()).toEqual(before);
  });

  test('removes new parents again if a later one cannot be made', async () => {
    const before = await everyName();
    await expect(install(`new/deep/${'x'.repeat(300)}/b`, 'x')).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    await expect(install(`new/deep/${'x'.repeat(256)}`, 'x')).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(await everyName()).toEqual(before);
  });

  test('reports a full disk as DISK_FULL: the old content stays, without a temporary file or new parents', async (context) => {
    const small = join(base, 'small');
    await mkdir(small);
    mount(context, '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small);
    try {
      const files = projectFiles(small);
      await files.install('kept' as RepoPath, Buffer.from('old'));
      const big = Buffer.alloc(200_000, 'x');
      for (const path of ['kept', 'new/deep/file']) {
        await expect(files.install(path as RepoPath, big)).rejects.toMatchObject({
          code: 'DISK_FULL',
          message: `${path} could not be written: no space left on device (ENOSPC).`,
        });
      }
      expect(await readdir(small, { recursive: true })).toEqual(['kept']);
      expect(await readFile(join(small, 'kept'), 'utf8')).toBe('old');
    } finally {
      call('umount', small);
    }
  });

  test.each([
    ['../elsewhere/secret', 'alias leads out of the project'],
    ['src/other.ts', 'it was moved while it was being written'],
  ])('stops if a symlink is redirected to %s while the content is written', async (target, reason) => {
    await link('alias', 'src/a.ts');
    const installing = expect(install('alias', 'x'.repeat(16_000_000))).rejects.toThrow(reason);
    while (!readdirSync(join(root, 'src')).some((name) => name.startsWith('.teddy-tmp-'))) await sleep(0);
    rmSync(join(root, 'alias'));
    symlinkSync(target, join(root, 'alias'));
    await installing;
    expect(await content('src/a.ts')).toBe('inside');
    expect(await readFile(join(base, 'elsewhere', 'secret'), 'utf8')).toBe('outside');
    expect(await readdir(join(root, 'src'))).toEqual(['a.ts']);
  });

  test('succeeds for one of eight that make the same new file at the same time, whose content stays', async () => {
    const names = ['1', '2', '3', '4', '5', '6', '7', '8'];
    const outcomes = await Promise.all(names.map((name) => installNew('new/file', name)));
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
    expect(await content('new/file')).toBe(names[outcomes.indexOf('done')]);
    expect(await readdir(join(root, 'new'))).toEqual(['file']);
  });

  test('leaves another user’s file theirs, with its mode', async () => {
    if (process.getuid?.() !== 0) return expect(process.getuid?.()).toBeGreaterThan(0);
    await chown(join(root, 'src', 'a.ts'), 4321, 4322);
    await chmod(join(root, 'src', 'a.ts'), 0o640);
    await install('src/a.ts', 'new');
    expect(await stat(join(root, 'src', 'a.ts'))).toMatchObject({ uid: 4321, gid: 4322, mode: 0o100640 });
  });

  test('shows a reader the old content or the new, never a part', async () => {
    const [old, fresh] = ['a'.repeat(300_000), 'b'.repeat(300_000)];
    await install('big', old);
    const state = { writing: true };
    const writing = (async () => {
      for (let round = 0; round < 20; round += 1) await install('big', round % 2 === 0 ? fresh : old);
      state.writing = false;
    })();
    let reads = 0;
    for (; state.writing; reads += 1) expect([old, fresh].includes(await content('big'))).toBe(true);
    await writing;
    expect(reads).toBeGreaterThan(5);
  });
});
