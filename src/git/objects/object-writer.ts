/** Writes loose objects that survive a crash, without a process per object. */
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, link, mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { TeddyError } from '../../errors.ts';
import type { Commit, ObjectBatch, TreeEntry } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';
import { encodeCommit, encodeObject, encodeTree, type ObjectType } from '../../session/entries/object-format.ts';
import { syncDirectoryIfPossible, toWriteError } from '../../disk/replace-file.ts';

const deflateAsync = promisify(deflate);
/** The fastest level, because teddy writes a turn's log once and rarely reads it, and `git gc` packs it anyway. */
const compressionLevel = 1;
const maxOpenFiles = 64;
/** A concurrent `git gc` removes an empty folder, but never removes the same folder this many times. */
const maxFolders = 20;

export interface ObjectWriterOptions {
  /** The repository's object directory, which its linked work trees share. */
  objectsDir: string;
  objectFormat: 'sha1' | 'sha256';
  /** `core.sharedRepository`, as configured. */
  shared?: string | undefined;
  /** Called at each step, so that a test can simulate a crash at that step. */
  onStep?: ((step: string) => void) | undefined;
}

/** Collects objects. `flush` makes all of them durable: temporary file, fsync, link, fsync of the directory. */
export function objectBatch(options: ObjectWriterOptions): ObjectBatch {
  const pending = new Map<Oid, Buffer>();

  function add(type: ObjectType, content: Uint8Array): Promise<Oid> {
    const bytes = encodeObject(type, content);
    const oid = createHash(options.objectFormat).update(bytes).digest('hex') as Oid;
    pending.set(oid, bytes);
    return Promise.resolve(oid);
  }

  return {
    blob: (bytes) => add('blob', typeof bytes === 'string' ? Buffer.from(bytes) : bytes),
    tree: (entries: TreeEntry[]) => add('tree', encodeTree(entries)),
    commit: (commit: Commit) => add('commit', encodeCommit(commit)),
    async flush() {
      const all = [...pending];
      const dirs = new Set<string>();
      for (let at = 0; at < all.length; at += maxOpenFiles) {
        const some = all.slice(at, at + maxOpenFiles);
        const made = await Promise.all(some.map(([oid, bytes]) => writeLooseObject(options, oid, bytes)));
        for (const dir of made.flat()) dirs.add(dir);
      }
      await Promise.all([...dirs].map(syncDirectoryIfPossible));
      options.onStep?.('objects-flushed');
      // Remove only the written objects, because callers may have added others meanwhile.
      for (const [oid] of all) pending.delete(oid);
    },
  };
}

/** Writes an object and returns the directories that must be fsynced before it counts as durable. */
async function writeLooseObject(options: ObjectWriterOptions, oid: Oid, bytes: Buffer): Promise<string[]> {
  const path = join(options.objectsDir, oid.slice(0, 2), oid.slice(2));
  try {
    if (await refresh(path)) return [dirname(path)];
    const compressed = await deflateAsync(bytes, { level: compressionLevel });
    const madeDir = await writeInFanOut(options, path, compressed);
    options.onStep?.('object-written');
    return madeDir ? [dirname(path), options.objectsDir] : [dirname(path)];
  } catch (error) {
    throw toWriteError(error, `object ${oid}`);
  }
}

/**
 * Returns true if the object already exists. Sets its mtime, as git does, so that a concurrent prune keeps the object,
 * and fsyncs it, because its writer may not have done so.
 */
async function refresh(path: string): Promise<boolean> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  try {
    const now = new Date();
    // In a shared repository, the file may belong to another user, and only its owner can set its times; git ignores
    // that error too.
    await file.utimes(now, now).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPERM' && error.code !== 'EACCES') throw error;
    });
    await file.sync();
    return true;
  } finally {
    await file.close();
  }
}

/** Writes the object, and recreates a folder that a `git gc` has removed, as git does. Returns true if it created a folder. */
async function writeInFanOut(options: ObjectWriterOptions, path: string, bytes: Buffer): Promise<boolean> {
  let madeDir = false;
  for (let tries = 1; ; tries += 1) {
    try {
      madeDir = (await makeFanOut(options, dirname(path))) || madeDir;
      options.onStep?.('object');
      await writeExclusively(options, path, bytes);
      return madeDir;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === maxFolders) throw error;
    }
  }
}

async function makeFanOut(options: ObjectWriterOptions, dir: string): Promise<boolean> {
  try {
    await mkdir(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  const mode = toSharedMode(0o777, options.shared);
  if (mode !== null) await chmod(dir, (mode & 0o060) === 0 ? mode : mode | 0o2000);
  return true;
}

async function writeExclusively(options: ObjectWriterOptions, path: string, bytes: Buffer): Promise<void> {
  // git uses the same kind of name, so `git gc` removes the files that a crash leaves behind.
  const temporary = join(dirname(path), `tmp_obj_${randomBytes(6).toString('hex')}`);
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o444);
  try {
    try {
      await file.writeFile(bytes);
      const mode = toSharedMode(0o444, options.shared);
      if (mode !== null) await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    if (await linkInto(temporary, path)) await unlink(temporary);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

/** Returns true when the temporary name still exists. A rename is safe, because equal IDs mean equal bytes. */
async function linkInto(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'EEXIST') return true;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV', 'EACCES'].includes(code)) throw error;
    await rename(temporary, path);
    return false;
  }
}

/** Applies `core.sharedRepository` as git does: a name, or an octal file mode. Returns null when the umask decides. */
export function toSharedMode(mode: number, shared: string | undefined): number | null {
  const bits = toSharedBits(shared);
  if (bits === null) return null;
  const writable = (mode & 0o200) !== 0;
  const wanted = writable ? bits.value : bits.value & ~0o222;
  const executable = (mode & 0o100) !== 0 ? wanted | ((wanted & 0o444) >> 2) : wanted;
  return bits.exact ? executable : (mode & ~0o077 & ~process.umask()) | executable | (mode & ~process.umask());
}

function toSharedBits(shared: string | undefined): { value: number; exact: boolean } | null {
  const text = shared?.toLowerCase() ?? 'umask';
  if (['umask', 'false', 'no', 'off', '0', ''].includes(text)) return null;
  if (['group', 'true', 'yes', 'on', '1'].includes(text)) return { value: 0o660, exact: false };
  if (['all', 'world', 'everybody', '2'].includes(text)) return { value: 0o664, exact: false };
  if (/^0?[0-7]{3}$/.test(text)) return { value: Number.parseInt(text, 8) & 0o666, exact: true };
  throw new TeddyError(
    'BAD_SETTING',
    `core.sharedRepository is ${JSON.stringify(shared)}, which git does not accept either.`,
    'Set it to `umask`, `group`, `all` or a file mode such as 0660.',
  );
}
