/** Sets index entries back to those of HEAD, under a lock that is known as ours. */
import type { Store } from '../ports.ts';
import { parseOid, type RefName, type RepoPath } from '../session/names.ts';
import { copyIndex, releaseIndexLock, removeRecord, takeIndexLock, writeRecord } from './index-lock.ts';
import { readHeadRef } from './layout.ts';
import { installIndex, type PublishOptions } from './publish.ts';

/** A git that is killed while it holds the lock itself leaves one that nobody may remove. */
export async function unstage(
  { git, layout, store }: PublishOptions & { store: Store },
  paths: RepoPath[],
): Promise<void> {
  if (paths.length === 0) return;
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
    const input = paths.map((path) => `${path}\0`).join('');
    const reset = ['--literal-pathspecs', 'reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'];
    await git.run(reset, { input, env: { GIT_INDEX_FILE: files.index } });
    await installIndex(gitDir, files);
  } finally {
    await (isLocked ? releaseIndexLock(gitDir, files) : removeRecord(files));
  }
}
