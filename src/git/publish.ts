/**
 * Moves a line to its next entry. Objects are durable already; here the ref moves, and with it the index and `.teddy/`.
 * The order is the promise: record, index lock, new index, ref, index, files. `repair.ts` finishes it after a crash.
 */
import { lstat, mkdir, rename, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { Publication } from '../ports.ts';
import { replaceFile, syncDir, toWriteError } from './durable-file.ts';
import {
  copyIndex,
  releaseIndexLock,
  removeFile,
  removeRecord,
  takeIndexLock,
  writeRecord,
  type AppendFiles,
} from './index-lock.ts';
import { updateRefs } from './refs.ts';
import { readHeadRef, type RepositoryLayout } from './layout.ts';
import type { GitRunner } from './run.ts';

export interface PublishOptions {
  git: GitRunner;
  layout: RepositoryLayout & { root: string };
  /** Called before each step; a test may crash there. */
  onStep?: ((step: string) => void) | undefined;
}

/** `moved`: the ref, or HEAD, was not where it was read; nothing was changed. */
export async function publish(options: PublishOptions, publication: Publication): Promise<'done' | 'moved'> {
  const { git, layout } = options;
  const step = (name: string) => options.onStep?.(name);
  step('record');
  const files = await writeRecord(layout.gitDir, publication);
  let locked = false;
  try {
    step('lock');
    await takeIndexLock(layout.gitDir, files);
    locked = true;
    if ((await readHeadRef(git, layout.gitDir)) !== publication.ref) {
      await releaseIndexLock(layout.gitDir, files);
      return 'moved';
    }
    step('index');
    await writeIndex(git, layout.gitDir, files, publication.index);
    step('ref');
    const outcome = await updateRefs(git, layout.commonDir, [publication], publication.reflog);
    if (outcome === 'moved') {
      await releaseIndexLock(layout.gitDir, files);
      return 'moved';
    }
  } catch (error) {
    await (locked ? releaseIndexLock(layout.gitDir, files) : removeRecord(files));
    throw error;
  }
  step('ref-moved');
  await installIndex(layout.gitDir, files);
  step('index-installed');
  await removeFile(join(layout.gitDir, 'index.lock'));
  step('unlocked');
  await writeSessionFiles(layout.root, publication.files);
  step('files-written');
  await removeRecord(files);
  step('done');
  return 'done';
}

/** Makes the next index in a file of our own; git rewrites it, and so keeps its rules for edits in the same second. */
export async function writeIndex(
  git: GitRunner,
  gitDir: string,
  files: AppendFiles,
  entries: Publication['index'],
): Promise<void> {
  await copyIndex(gitDir, files.index);
  const rows = entries.map(({ path, entry }) =>
    entry === null
      ? `0 ${'0'.repeat(40)}\t${path}\0`
      : `${entry.mode === '40000' ? '040000' : entry.mode} ${entry.oid}\t${path}\0`,
  );
  await git.run(['update-index', '-z', '--index-info'], { input: rows.join(''), env: { GIT_INDEX_FILE: files.index } });
}

export async function installIndex(gitDir: string, files: AppendFiles): Promise<void> {
  try {
    await rename(files.index, join(gitDir, 'index'));
    await syncDir(gitDir);
  } catch (error) {
    throw toWriteError(error, 'the index');
  }
}

/** Files below `.teddy/`, each replaced whole. A link in the way is never followed. */
export async function writeSessionFiles(root: string, files: Publication['files']): Promise<void> {
  for (const { path, bytes } of files) {
    const target = join(root, path);
    await refuseLinks(root, path);
    if (bytes === null) {
      await removeFile(target);
      await removeEmptyParents(root, path);
      continue;
    }
    await mkdir(dirname(target), { recursive: true });
    await replaceFile(target, bytes);
  }
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

async function removeEmptyParents(root: string, path: string): Promise<void> {
  for (let dir = dirname(path); dir !== '.' && dir !== '.teddy'; dir = dirname(dir)) {
    const removed = await rmdir(join(root, dir)).then(
      () => true,
      () => false,
    );
    if (!removed) return;
  }
}
