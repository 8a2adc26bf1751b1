/** The project's files on disk: inside the project, read without blocking, installed atomically. */
import { constants } from 'node:fs';
import { open, readdir, realpath, readFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer as readStream } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { TeddyError } from '../../errors.ts';
import type { ProjectFiles, ScratchFiles } from '../../ports/disk.ts';
import type { FileTarget } from '../../ports/files.ts';
import type { RepoPath } from '../../names.ts';
import { findTwin } from '../../session/paths/twin-names.ts';
import { locate } from './contained-path.ts';
import { findFileAge, putFileState, readerOfStates, removeEmptyDirectories } from './file-state.ts';
import { installFile, installNewFile, removeFile, removeLeftovers } from './install-file.ts';
import { errorReason, fallBackTo } from '../../disk/system-error.ts';

/**
 * `root` is the project's directory, or a symlink to it. Methods that read throw ACTION_FAILED when the system denies
 * access; `install` throws DISK_FULL or WRITE_FAILED without having changed anything.
 */
export function projectFiles(root: string): ProjectFiles {
  const readState = readerOfStates(root);
  return {
    inspect: (path) => inspectPath(root, path).catch(toThrown(path)),
    inside: (path) => findInside(root, path).catch(toThrown(path)),
    findTwin: (path) =>
      findTwin(path, (dir) => readdir(join(root, dir)).catch(fallBackTo<string[]>([], 'ENOENT', 'ENOTDIR'))).catch(
        toThrown(path),
      ),
    install: (path, bytes, executable) => installFile(root, path, bytes, executable),
    installNew: (path, bytes) => installNewFile(root, path, bytes),
    remove: (path) => removeFile(root, path),
    removeLeftovers: (path) => removeLeftovers(root, path).catch(toThrown(path)),
    readState: (path) => readState(path).catch(toThrown(path)),
    putState: (path, state) => putFileState(root, path, state),
    removeEmptyDirectories: (directories) =>
      removeEmptyDirectories(root, directories).catch(toThrown(directories[0] ?? '.')),
    findAge: (path, time) => findFileAge(root, path, time).catch(toThrown(path)),
  };
}

/** Throws ACTION_FAILED when the system denies access. */
function toThrown(path: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof TeddyError) throw error;
    throw new TeddyError(
      'ACTION_FAILED',
      `${path} could not be read: ${errorReason(error)}.`,
      'Check its permissions and run the command again.',
      { cause: error },
    );
  };
}

async function findInside(root: string, path: string): Promise<string | null> {
  for (let at = path; ; at = dirname(at)) {
    const real = await realpath(at).catch(fallBackTo(null, 'ENOENT', 'ENOTDIR'));
    if (real === null) continue;
    const below = relative(await realpath(root), join(real, relative(at, path)));
    return below === '' || below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below) ? null : below;
  }
}

async function inspectPath(root: string, path: RepoPath): Promise<FileTarget> {
  const located = await locate(root, path);
  if (located.kind !== 'found' && located.kind !== 'absent') return located;
  const real = relative(await realpath(root), located.real) as RepoPath;
  const moved = real === path ? {} : { real };
  if (located.kind === 'absent') return { kind: 'absent', ...moved };
  if (located.stats.isDirectory()) return { kind: 'directory' };
  if (!located.stats.isFile()) return { kind: 'special' };
  const file = await readRegularFile(located.real);
  return file.kind === 'file' ? { ...file, ...moved } : file;
}

/** The flags and the second check handle a FIFO or a symlink that replaces the file in between. */
async function readRegularFile(real: string): Promise<FileTarget> {
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return { kind: 'special' };
    return { kind: 'file', bytes: await file.readFile(), executable: (stats.mode & 0o100) !== 0 };
  } finally {
    await file.close();
  }
}

/** `from` is a path relative to `cwd`, or `-` for stdin. Throws FILE_NOT_FOUND, or USAGE for text that is not UTF-8. */
export async function readAnswer(from: string, { cwd, stdin }: { cwd: string; stdin: Readable }): Promise<string> {
  const bytes = from === '-' ? await readStream(stdin) : await readAnswerFile(from, cwd);
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  throw new TeddyError(
    'USAGE',
    `The answer in ${from} is not UTF-8 text.`,
    'Save it as UTF-8 and run the command again.',
  );
}

async function readAnswerFile(path: string, cwd: string): Promise<Buffer> {
  return readFile(resolve(cwd, path)).catch((error: unknown) => {
    throw new TeddyError(
      'FILE_NOT_FOUND',
      `The answer cannot be read from ${path}: ${errorReason(error)}.`,
      'Name a file, or use - for stdin.',
    );
  });
}

/** Files for a command to read, outside every work tree. */
export function scratchFiles(): ScratchFiles {
  return {
    async write(name, bytes) {
      const directory = await mkdtemp(join(tmpdir(), 'teddy-file-')).catch(refuse);
      const remove = () => rm(directory, { recursive: true, force: true });
      const path = join(directory, name);
      try {
        await writeFile(path, bytes, { mode: 0o600 });
      } catch (error) {
        await remove();
        refuse(error);
      }
      return { path, remove };
    },
  };
}

function refuse(error: unknown): never {
  throw new TeddyError(
    'WRITE_FAILED',
    `A temporary file could not be written: ${errorReason(error)}.`,
    `Make room in ${tmpdir()}, or set TMPDIR to another directory.`,
    { cause: error },
  );
}
