/**
 * Moves a line to its next entry. The objects are already durable; this module moves the ref, and with it the index and
 * `.teddy/`. The order is guaranteed: record, index lock, new index, ref, index, files. After a crash, `repair.ts`
 * finishes the publication.
 */
import { lstat, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { Publication } from '../../ports/git.ts';
import { shortRef, zeroOid } from '../../names.ts';
import { removeDirectory } from '../../disk/durable-file.ts';
import { removeFile, replaceFile, syncDirectoryIfPossible, toWriteError } from '../../disk/replace-file.ts';
import {
  copyIndex,
  markInterrupted,
  releaseIndexLock,
  removeRecord,
  takeIndexLock,
  writeRecord,
  type AppendFiles,
} from './index-lock.ts';
import { releaseRefLocks } from '../refs/ref-record.ts';
import { updateRefs } from '../refs/refs.ts';
import { readHeadRef, type RepositoryLayout } from '../run/layout.ts';
import type { GitRunner } from '../run/run.ts';

export interface PublishOptions {
  git: GitRunner;
  layout: RepositoryLayout & { root: string };
  /** Called before each step, so that a test can simulate a crash at that step. */
  onStep?: ((step: string) => void) | undefined;
}

/** Publishes an entry. Returns `moved`, with nothing changed, when the ref or HEAD has moved since it was read. */
export async function publish(options: PublishOptions, publication: Publication): Promise<'done' | 'moved'> {
  const { layout } = options;
  const step = (name: string) => options.onStep?.(name);
  for (const { path } of publication.files) await refuseLinks(layout.root, path);
  step('record');
  const files = await writeRecord(layout.gitDir, publication);
  try {
    if ((await moveRef(options, files, publication)) === 'moved') return 'moved';
    step('ref-moved');
    await follow(options, files, publication).catch((error: unknown) => {
      throw toPublishedError(error, publication);
    });
    step('done');
    return 'done';
  } finally {
    await markInterrupted(files);
  }
}

/** Updates index and files to the ref's current entry. */
async function follow({ layout, onStep }: PublishOptions, files: AppendFiles, publication: Publication): Promise<void> {
  // The fsync that makes the index's name durable also covers the ref, which changed earlier (see `store.ts`).
  await installIndex(layout.gitDir, files);
  onStep?.('index-installed');
  await removeFile(join(layout.gitDir, 'index.lock'));
  onStep?.('unlocked');
  await writeSessionFiles(layout, publication.files);
  onStep?.('files-written');
  await removeRecord(files);
}

/** Adds that the entry is published. The record stays, so the next command continues from here. */
function toPublishedError(error: unknown, { ref }: Publication): unknown {
  if (!(error instanceof TeddyError)) return error;
  const message = `${error.message} The entry was still recorded on ${shortRef(ref)}.`;
  return new TeddyError(error.code, message, `${error.hint ?? ''} The next command finishes it.`.trim(), {
    cause: error,
  });
}

/**
 * Takes the lock, prepares the index and moves the ref, or undoes everything. If a dead git may have left locks, keeps
 * the record and the lock, because the ref may or may not have moved.
 */
async function moveRef(
  { git, layout, onStep }: PublishOptions,
  files: AppendFiles,
  publication: Publication,
): Promise<'done' | 'moved'> {
  let outcome: 'done' | 'moved' = 'moved';
  let locked = false;
  let isSettled = true;
  try {
    onStep?.('lock');
    await takeIndexLock(layout.gitDir, files);
    locked = true;
    onStep?.('index');
    // Wait for all of them before undoing anything, because a git that is still writing would leave its file behind.
    const [head, ...prepared] = await Promise.allSettled([
      readHeadRef(git),
      writeIndex(git, layout.gitDir, files, publication),
      publication.durable,
    ]);
    if (head.status === 'fulfilled' && head.value !== publication.ref) return 'moved';
    for (const part of [head, ...prepared]) if (part.status === 'rejected') throw part.reason;
    onStep?.('ref');
    outcome = await updateRefs(git, [publication], publication.reflog, async (atWork) => {
      isSettled = false;
      isSettled = await releaseRefLocks(git, layout, [publication], atWork);
    });
    return outcome;
  } finally {
    if (outcome === 'moved' && isSettled) await (locked ? releaseIndexLock(layout.gitDir, files) : removeRecord(files));
  }
}

/** Makes the next index in a private file. git rewrites that file, and so applies its rules for edits in the same second. */
export async function writeIndex(
  git: GitRunner,
  gitDir: string,
  files: AppendFiles,
  { index, new: commit }: Pick<Publication, 'index' | 'new'>,
): Promise<void> {
  const env = { GIT_INDEX_FILE: files.index };
  // git writes no index if there was none and the new one would be empty.
  if (!(await copyIndex(gitDir, files.index))) await git.run(['read-tree', '--empty'], { env });
  const none = zeroOid(commit);
  const rows = index.map(({ path, entry }) =>
    entry === null
      ? `0 ${none}\t${path}\0`
      : `${entry.mode === '40000' ? '040000' : entry.mode} ${entry.oid}\t${path}\0`,
  );
  await git.run(['update-index', '-z', '--index-info'], { input: rows.join(''), env });
}

export async function installIndex(gitDir: string, files: AppendFiles): Promise<void> {
  try {
    await rename(files.index, join(gitDir, 'index'));
    await syncDirectoryIfPossible(gitDir);
  } catch (error) {
    throw toWriteError(error, 'the index');
  }
}

/** Writes files below `.teddy/`, replacing each one completely. Never follows links in their paths. */
export async function writeSessionFiles(
  { root, gitDir }: Pick<PublishOptions['layout'], 'root' | 'gitDir'>,
  files: Publication['files'],
): Promise<void> {
  // Write them concurrently, because each waits for an fsync.
  await Promise.all(
    files.map(async ({ path, bytes }) => {
      const target = join(root, path);
      await refuseLinks(root, path);
      if (bytes !== null) return replaceFile(target, bytes, join(gitDir, 'teddy'));
      await removeFile(target);
      return removeEmptyParents(root, path, '.teddy');
    }),
  );
}

async function refuseLinks(root: string, path: string): Promise<void> {
  const parts = path.split('/');
  for (let depth = 1; depth < parts.length; depth += 1) {
    const part = parts.slice(0, depth).join('/');
    const found = await lstat(join(root, part)).catch(() => null);
    if (found === null) return;
    if (found.isDirectory()) continue;
    throw new TeddyError(
      'FILES_IN_THE_WAY',
      `${part} is in the way: it is not a directory.`,
      `Move ${part} away and run the command again.`,
    );
  }
}

export async function removeEmptyParents(root: string, path: string, top = '.'): Promise<void> {
  for (let dir = dirname(path); dir !== '.' && dir !== top; dir = dirname(dir)) {
    if (!(await removeDirectory(join(root, dir)))) return;
  }
}
