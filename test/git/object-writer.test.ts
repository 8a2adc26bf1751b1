/** Loose objects on disk: readable by git, durable, shared like git shares them, and without leftovers. */
import { rmdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, utimes } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { TeddyError } from '../../src/errors.ts';
import { toWriteError } from '../../src/disk/replace-file.ts';
import { objectBatch, toSharedMode } from '../../src/git/objects/object-writer.ts';
import { openRepository } from '../../src/git/repository.ts';
import type { Oid } from '../../src/names.ts';
import { gitBytes, gitText } from '../support/git-process.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

/** Replaces a file system with errors that cannot be caused here: error codes by call, `link` or `open`. */
const failing = vi.hoisted(() => ({ link: '', utimes: '' }));
vi.mock('node:fs/promises', async (load) => {
  const real = await load<typeof import('node:fs/promises')>();
  const fail = (code: string) => Promise.reject(Object.assign(new Error(`${code}: made up`), { code }));
  return {
    ...real,
    link: (...args: Parameters<typeof real.link>) => (failing.link ? fail(failing.link) : real.link(...args)),
    open: async (...args: Parameters<typeof real.open>) => {
      const file = await real.open(...args);
      if (failing.utimes) file.utimes = () => fail(failing.utimes);
      return file;
    },
  };
});

let repo: ScratchRepository;
beforeAll(async () => {
  repo = await makeScratchRepository();
});
afterEach(() => {
  Object.assign(failing, { link: '', utimes: '' });
});
afterAll(() => repo.close());

const objectsDir = () => join(repo.root, '.git/objects');
const pathOf = (oid: Oid) => join(objectsDir(), oid.slice(0, 2), oid.slice(2));
const modeOf = async (path: string) => (await stat(path)).mode & 0o7777;

async function temporaryFiles(): Promise<string[]> {
  return (await readdir(objectsDir(), { recursive: true })).filter((name) => name.includes('tmp_obj'));
}

async function writeBlob(text: string, shared?: string): Promise<Oid> {
  const batch = objectBatch({ objectsDir: objectsDir(), objectFormat: 'sha1', shared });
  const oid = await batch.blob(text);
  await batch.flush();
  return oid;
}

test('nothing is on disk before the flush; then git reads every object, and each is read-only', async () => {
  const batch = objectBatch({ objectsDir: objectsDir(), objectFormat: 'sha1' });
  const blob = await batch.blob('Käse\r\n');
  const tree = await batch.tree([{ mode: '100644', name: 'ü', oid: blob }]);
  const who = 'A <a@example.org> 1 +0000';
  const commit = await batch.commit({ tree, parents: [], author: who, committer: who, message: 'x\n' });
  await expect(stat(pathOf(blob))).rejects.toThrow('ENOENT');
  await batch.flush();
  expect(gitBytes(repo.root, ['cat-file', 'blob', `${commit}:ü`]).toString('utf8')).toBe('Käse\r\n');
  for (const oid of [blob, tree, commit]) expect(await modeOf(pathOf(oid))).toBe(0o444 & ~process.umask());
  expect(await temporaryFiles()).toEqual([]);
});

test('an object that is added while others are written is kept', async () => {
  const batch = objectBatch({ objectsDir: objectsDir(), objectFormat: 'sha1' });
  await batch.blob('first');
  const writing = batch.flush();
  const late = await batch.blob('late');
  await writing;
  await batch.flush();
  expect(await repo.git('cat-file', 'blob', late)).toBe('late');
});

test('an object folder that git removes while it is still empty is recreated', async () => {
  const batch = (removals: number) => {
    let left = removals;
    return objectBatch({
      objectsDir: objectsDir(),
      objectFormat: 'sha1',
      onStep(step) {
        // `git prune-packed` removes every empty folder, even one that was just made.
        if (step === 'object' && left > 0) rmdirSync(dirname(pathOf(oid)));
        if (step === 'object') left -= 1;
      },
    });
  };
  let text = 0;
  let oid = '' as Oid;
  const isTaken = async () =>
    stat(dirname(pathOf(oid))).then(
      () => true,
      () => false,
    );
  do oid = await batch(0).blob(`in a folder of its own ${(text += 1)}`);
  while (await isTaken());
  const raced = batch(3);
  await raced.blob(`in a folder of its own ${text}`);
  await raced.flush();
  expect(await repo.git('cat-file', 'blob', oid)).toBe(`in a folder of its own ${text}`);

  await rm(dirname(pathOf(oid)), { recursive: true });
  const hopeless = batch(Infinity);
  await hopeless.blob(`in a folder of its own ${text}`);
  await expect(hopeless.flush()).rejects.toMatchObject({ code: 'WRITE_FAILED' });
});

test('hundreds of objects are written without running out of file handles', async () => {
  const batch = objectBatch({ objectsDir: objectsDir(), objectFormat: 'sha1' });
  const oids = await Promise.all(Array.from({ length: 600 }, (_, at) => batch.blob(`number ${at}`)));
  await batch.flush();
  const found = gitText(repo.root, ['cat-file', '--batch-check'], { input: oids.join('\n') });
  expect(found).not.toContain('missing');
});

test('an existing object gets a new time, so that a prune keeps it', async () => {
  const oid = await writeBlob('kept');
  await utimes(pathOf(oid), 1000, 1000);
  await writeBlob('kept');
  expect((await stat(pathOf(oid))).mtimeMs).not.toBe(1_000_000);
  const old = await writeBlob('old');
  await utimes(pathOf(old), 1000, 1000);
  await repo.git('prune', '--expire=1.hour.ago');
  expect(await repo.gitSucceeds('cat-file', '-e', oid)).toBe(true);
  expect(await repo.gitSucceeds('cat-file', '-e', old)).toBe(false);
});

test("another user's object, whose time only they can set, is good enough", async () => {
  const oid = await writeBlob('theirs');
  failing.utimes = 'EPERM';
  expect(await writeBlob('theirs')).toBe(oid);
});

test('an object that is packed already can be rewritten', async () => {
  const oid = (await repo.git('rev-parse', 'HEAD:README.md')) as Oid;
  await repo.git('gc', '--quiet');
  await expect(stat(pathOf(oid))).rejects.toThrow('ENOENT');
  expect(await writeBlob('# Scratch\n')).toBe(oid);
  expect(await repo.git('cat-file', 'blob', oid)).toBe('# Scratch');
});

test.each(['EPERM', 'ENOTSUP', 'ENOSYS'])('if links fail with %s, a rename does it', async (code) => {
  failing.link = code;
  const oid = await writeBlob(`without links: ${code}`);
  expect(await repo.git('cat-file', 'blob', oid)).toBe(`without links: ${code}`);
  expect(await temporaryFiles()).toEqual([]);
});

test('a failing write names the object, and leaves no temporary file', async () => {
  failing.link = 'ENOSPC';
  await expect(writeBlob('too much')).rejects.toMatchObject({ code: 'DISK_FULL' });
  failing.link = 'EIO';
  await expect(writeBlob('too much')).rejects.toMatchObject({ code: 'WRITE_FAILED' });
  expect(await temporaryFiles()).toEqual([]);
  failing.link = '';
  const batch = objectBatch({ objectsDir: join(repo.root, 'README.md'), objectFormat: 'sha1' });
  await batch.blob('nowhere');
  await expect(batch.flush()).rejects.toThrow(
    /^object [0-9a-f]{40} could not be written: not a directory \(ENOTDIR\)\.$/,
  );
});

test('disk errors keep their meaning, and others pass through', () => {
  const error = (code: keyof typeof constants.errno) =>
    Object.assign(new Error("x, open 'a.tmp-file-1'"), { code, errno: -constants.errno[code] });
  expect(toWriteError(error('ENOSPC'), 'a')).toMatchObject({ code: 'DISK_FULL' });
  expect(toWriteError(error('EDQUOT'), 'a')).toMatchObject({ code: 'DISK_FULL' });
  expect(toWriteError(error('EACCES'), 'a')).toMatchObject({
    code: 'WRITE_FAILED',
    message: 'a could not be written: permission denied (EACCES).',
  });
  const known = new TeddyError('LOCKED', 'held');
  expect(toWriteError(known, 'a')).toBe(known);
});

describe('core.sharedRepository', () => {
  test.each(['group', 'true', '1', 'all', 'world', 'everybody', '2', 'umask', 'false', '0660', '0640', '0600', '0666'])(
    '%s gives objects and directories the same modes as git',
    async (shared) => {
      const [ours, theirs] = [join(repo.root, `ours-${shared}`), join(repo.root, `theirs-${shared}`)];
      const before = process.umask(0o027);
      try {
        await Promise.all([mkdir(ours), mkdir(theirs)]);
        const batch = objectBatch({ objectsDir: ours, objectFormat: 'sha1', shared });
        const oid = await batch.blob('shared');
        await batch.flush();
        const git = ['-c', `core.sharedRepository=${shared}`, 'hash-object', '-w', '--stdin'];
        gitText(repo.root, git, { input: 'shared', env: { GIT_OBJECT_DIRECTORY: theirs } });
        const modes = (dir: string) =>
          Promise.all([oid.slice(0, 2), `${oid.slice(0, 2)}/${oid.slice(2)}`].map((name) => modeOf(join(dir, name))));
        expect(await modes(ours)).toEqual(await modes(theirs));
      } finally {
        process.umask(before);
      }
    },
  );

  test('with an unknown value is reported', () => {
    expect(() => toSharedMode(0o444, 'nonsense')).toThrow(/nonsense/);
  });
});

test('objects of a linked work tree go to the common directory, and alternates are read but not written', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'teddy-alternate-'));
  try {
    await repo.git('worktree', 'add', '--quiet', join(scratch, 'linked'), '-b', 'linked');
    await repo.git('clone', '--quiet', '--shared', repo.root, join(scratch, 'clone'));
    const write = async (cwd: string, text: string) => {
      const { store, close } = await openRepository({ cwd, env: process.env });
      const head = await store.resolve('HEAD');
      if (head === null) throw new Error('There is no HEAD.');
      expect((await store.readFile(head, 'README.md' as never))?.bytes.toString()).toBe('# Scratch\n');
      const batch = store.batch();
      const oid = await batch.blob(text);
      await batch.flush();
      await close();
      return oid;
    };
    const linked = await write(join(scratch, 'linked'), 'from the linked work tree');
    expect((await stat(pathOf(linked))).isFile()).toBe(true);
    const cloned = await write(join(scratch, 'clone'), 'from the clone');
    await expect(stat(pathOf(cloned))).rejects.toThrow('ENOENT');
    expect(gitText(join(scratch, 'clone'), ['cat-file', 'blob', cloned])).toBe('from the clone');
    await repo.git('worktree', 'remove', '--force', join(scratch, 'linked'));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
});
