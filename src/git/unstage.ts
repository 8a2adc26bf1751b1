/** Sets index entries back to those of HEAD, under a lock that is known as ours. */
import type { Store } from '../ports/git.ts';
import { parseOid, type RefName, type RepoPath } from '../names.ts';
import { copyIndex, releaseIndexLock, removeRecord, takeIndexLock, writeRecord } from './index-lock.ts';
import { readHeadRef } from './layout.ts';
import { installIndex, type PublishOptions } from './publish.ts';
import type { GitRunner } from './run.ts';

/** A git that is killed while it holds the lock itself leaves one that nobody may remove. */
export async function unstage(
  { git, layout, store }: PublishOptions & { store: Store },
  paths: RepoPath[],
): Promise<void> {
  // Nothing is written where nothing is staged: a full disk does not keep a run from being rolled back then.
  const staged = paths.length === 0 ? [] : await listStaged(git, paths);
  if (staged.length === 0) return;
  const { gitDir } = layout;
  const ref = (await readHeadRef(git)) ?? ('HEAD' as RefName);
  // No commit: after a crash it is taken back, and whoever rolls back does it again.
  const none = parseOid('0'.repeat(store.objectFormat === 'sha1' ? 40 : 64));
  const files = await writeRecord(gitDir, { ref, old: null, new: none });
  let isLocked = false;
  try {
    await takeIndexLock(gitDir, files);
    isLocked = true;
    if (!(await copyIndex(gitDir, files.index))) return;
    const input = staged.map((path) => `${path}\0`).join('');
    const reset = ['--literal-pathspecs', 'reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'];
    await git.run(reset, { input, env: { GIT_INDEX_FILE: files.index } });
    await installIndex(gitDir, files);
  } finally {
    await (isLocked ? releaseIndexLock(gitDir, files) : removeRecord(files));
  }
}

/** Those whose index entry is not that of HEAD; unmerged ones and those of `git add -N` as well. */
async function listStaged(git: GitRunner, paths: RepoPath[]): Promise<RepoPath[]> {
  const args = ['diff', '--cached', '--name-only', '--no-renames', '--no-relative', '--ita-visible-in-index', '-z'];
  const differing = new Set<string>(await git.list([...args, '--ignore-submodules=none']));
  return paths.filter((path) => differing.has(path));
}
