/** Repairs a state between objects and index that a crash of teddy left behind. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Publication, Store } from '../../ports/git.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { shortRef, type Oid } from '../../names.ts';
import { removeHalfMadeWorkTrees } from './half-made-work-trees.ts';
import { readStaged, finishOrUndoCheckout, toBusyError } from './checkout.ts';
import { isAlive, readBootId } from '../../disk/process-identity.ts';
import {
  awaitChild,
  claimDeadRecords,
  holdsLock,
  parseHolderPid,
  removeRecord,
  takeIndexLock,
  type AppendRecord,
  type Checkout,
  type DeadRecord,
} from './index-lock.ts';
import { fileExists, removeFile } from '../../disk/replace-file.ts';
import { installIndex, writeIndex, writeSessionFiles, type PublishOptions } from './publish.ts';
import { releaseRefLocks, repairRefLocks } from '../refs/ref-record.ts';
import { listRefs } from '../refs/refs.ts';
import { readHeadRef } from '../run/layout.ts';

/** Repairs everything and returns one sentence for the user about each interrupted publication. */
export async function repair(options: PublishOptions, store: Store): Promise<string[]> {
  const said = await removeHalfMadeWorkTrees(options.git, options.layout);
  for await (const record of claimDeadRecords(options.layout.gitDir))
    said.push(await repairOne(options, store, record));
  await repairRefLocks(options.git, options.layout);
  await removeScratch(options.layout.gitDir);
  return said;
}

/** Removes a killed process's unfinished files: a snapshot's private index, as large as the user's, or a partial record. */
async function removeScratch(gitDir: string): Promise<void> {
  const dir = join(gitDir, 'teddy');
  for (const name of await readdir(dir).catch(() => [] as string[])) {
    const pid = parseHolderPid(name);
    if (pid === null || pid === process.pid || (await isAlive(pid, await readBootId()))) continue;
    await removeFile(join(dir, name));
  }
}

/** Settles an interrupted checkout. The killed command's git may have finished the checkout on its own. */
async function repairCheckout(
  options: PublishOptions,
  store: Store,
  { files, ...record }: DeadRecord,
  { from, to }: Checkout,
): Promise<string> {
  const { gitDir } = options.layout;
  await awaitChild(files, record);
  const wanted = { ref: record.ref, from, to };
  const isThere = await finishOrUndoCheckout({ ...options, store }, wanted, files, record.writtenMs);
  if (await holdsLock(gitDir, files)) await removeFile(join(gitDir, 'index.lock'));
  // The user removed the lock by hand.
  else if (isThere) await updateUnlockedIndex(options, store, { files, old: from, new: to });
  await removeRecord(files);
  const branch = shortRef(record.ref);
  return isThere
    ? `An interrupted command was finished: HEAD and the files are now at ${branch}.`
    : `An interrupted command was undone: the files are as they were before it checked out ${branch}.`;
}

async function repairOne(options: PublishOptions, store: Store, record: DeadRecord): Promise<string> {
  if (record.checkout) return repairCheckout(options, store, record, record.checkout);
  const { gitDir } = options.layout;
  const { files, writtenMs, latestMs } = record;
  // A lock that another git may hold stays, as does teddy's record.
  const atWork = { notedMs: writtenMs, latestMs };
  if (!(await releaseRefLocks(options.git, options.layout, [record], atWork))) throw toBusyError(record.ref);
  const tip = (await listRefs(options.git, [record.ref])).find(({ ref }) => ref === record.ref)?.oid ?? null;
  const published = tip !== null && (tip === record.new || (await wasPublished(store, record.new, tip)));
  const ours = await holdsLock(gitDir, files);
  if (published && tip === record.new && (await readHeadRef(options.git)) === record.ref) {
    if (ours && (await fileExists(files.index))) await installIndex(gitDir, files);
    else if (!ours) await updateUnlockedIndex(options, store, record);
    if (ours) await removeFile(join(gitDir, 'index.lock'));
    await writeSessionFiles(options.layout, await missingFiles(store, record));
  } else if (ours) {
    await removeFile(join(gitDir, 'index.lock'));
  }
  await removeRecord(files);
  return published
    ? 'An interrupted command was finished: its entry was already on the branch.'
    : 'An interrupted command was undone: its entry had not reached the branch.';
}

async function wasPublished(store: Store, commit: Oid, tip: Oid): Promise<boolean> {
  return (await store.readSize(commit)) !== null && (await store.isAncestor(commit, tip));
}

/**
 * Updates the index after the user removed teddy's lock by hand. The index may contain the user's new work, so update
 * only entries that have not changed since before the interrupted commit.
 */
async function updateUnlockedIndex(
  options: PublishOptions,
  store: Store,
  record: Pick<DeadRecord, 'files' | 'old' | 'new'>,
): Promise<void> {
  const { git, layout } = options;
  const { files } = record;
  // Without the claim, the crash came after the last step that matters, during the removal of the files.
  if (!(await fileExists(files.claim))) return;
  const changes = await store.diffTrees(record.old, record.new);
  const staged = await readStaged(
    git,
    changes.map(({ path }) => `:(literal,top)${path}`),
  );
  const entries: Publication['index'] = changes
    .filter(({ path, before }) => (staged.get(path) ?? null) === before)
    .map(({ path, after, mode }) => ({ path, entry: after === null || mode === null ? null : { oid: after, mode } }));
  if (entries.length === 0) return;
  await takeIndexLock(layout.gitDir, files);
  await writeIndex(git, layout.gitDir, files, { index: entries, new: record.new });
  await installIndex(layout.gitDir, files);
  await removeFile(join(layout.gitDir, 'index.lock'));
}

async function missingFiles(store: Store, record: AppendRecord): Promise<Publication['files']> {
  const changes = (await store.diffTrees(record.old, record.new)).filter(({ path }) => isSessionPath(path));
  return Promise.all(
    changes.map(async ({ path, after }) => ({ path, bytes: after === null ? null : await store.readBlob(after) })),
  );
}
