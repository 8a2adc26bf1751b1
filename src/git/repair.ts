/** Puts right what a crash of ours left between the objects and the index. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Publication, Store } from '../ports.ts';
import type { Oid } from '../session/names.ts';
import {
  appendFiles,
  claimDeadRecords,
  fileExists,
  holdsLock,
  removeClaimed,
  removeFile,
  takeIndexLock,
  type AppendRecord,
  type DeadRecord,
} from './index-lock.ts';
import { installIndex, writeIndex, writeSessionFiles, type PublishOptions } from './publish.ts';
import { listRefs } from './refs.ts';
import { readHeadRef } from './layout.ts';

const refLockWaitMs = 1000;
const crashWindowMs = 5000;

/** Returns one sentence for each interrupted publication; they are for the user to read. */
export async function repair(options: PublishOptions, store: Store): Promise<string[]> {
  const said: string[] = [];
  for (const record of await claimDeadRecords(options.layout.gitDir))
    said.push(await repairOne(options, store, record));
  return said;
}

async function repairOne(options: PublishOptions, store: Store, record: DeadRecord): Promise<string> {
  const { gitDir, commonDir } = options.layout;
  const files = appendFiles(gitDir, record.pid);
  await removeRefLock(commonDir, record);
  const tip = (await listRefs(options.git, [record.ref])).find(({ ref }) => ref === record.ref)?.oid ?? null;
  const published = tip !== null && (tip === record.new || (await wasPublished(store, record.new, tip)));
  const ours = await holdsLock(gitDir, record);
  if (published && tip === record.new && (await readHeadRef(options.git, gitDir)) === record.ref) {
    if (ours && (await fileExists(files.index))) await installIndex(gitDir, files);
    else if (!ours) await redoIndex(options, store, record);
    if (ours) await removeFile(join(gitDir, 'index.lock'));
    await writeSessionFiles(options.layout.root, await missingFiles(store, record));
  } else if (ours) {
    await removeFile(join(gitDir, 'index.lock'));
  }
  await removeClaimed(gitDir, record);
  return published
    ? 'An interrupted command was finished: its entry was already on the line.'
    : 'An interrupted command was taken back: its entry had not reached the line.';
}

async function wasPublished(store: Store, commit: Oid, tip: Oid): Promise<boolean> {
  return (await store.readSize(commit)) !== null && (await store.isAncestor(commit, tip));
}

/**
 * git's own lock of the ref, when git died together with us. A living git lets go of it in milliseconds, and a lock that
 * was not taken at the time of our crash is not ours.
 */
async function removeRefLock(commonDir: string, record: DeadRecord): Promise<void> {
  const lock = join(commonDir, `${record.ref}.lock`);
  const deadline = performance.now() + refLockWaitMs;
  for (;;) {
    const found = await stat(lock).catch(() => null);
    if (found === null || Math.abs(found.mtimeMs - record.writtenMs) > crashWindowMs) return;
    if (performance.now() > deadline) return removeFile(lock);
    await sleep(50);
  }
}

/**
 * The user removed our lock by hand, so the index may hold new work of theirs: only entries that are still as they were
 * before the interrupted commit follow it.
 */
async function redoIndex(options: PublishOptions, store: Store, record: AppendRecord): Promise<void> {
  const { git, layout } = options;
  const files = appendFiles(layout.gitDir, record.pid);
  // Without it the crash came after the last step that mattered, while its files were being cleared away.
  if (!(await fileExists(files.claim))) return;
  const changes = await store.diffTrees(record.old, record.new);
  const staged = new Map(
    (await git.list(['ls-files', '-s', '-z', '--', ...changes.map(({ path }) => `:(literal,top)${path}`)])).map(
      (row) => {
        const tab = row.indexOf('\t');
        return [row.slice(tab + 1), row.split(' ')[1] ?? ''];
      },
    ),
  );
  const entries: Publication['index'] = changes
    .filter(({ path, before }) => (staged.get(path) ?? null) === before)
    .map(({ path, after, mode }) => ({ path, entry: after === null || mode === null ? null : { oid: after, mode } }));
  if (entries.length === 0) return;
  await takeIndexLock(layout.gitDir, files);
  await writeIndex(git, layout.gitDir, files, entries);
  await installIndex(layout.gitDir, files);
  await removeFile(join(layout.gitDir, 'index.lock'));
}

async function missingFiles(store: Store, record: AppendRecord): Promise<Publication['files']> {
  const changes = (await store.diffTrees(record.old, record.new)).filter(({ path }) => path.startsWith('.teddy/'));
  return Promise.all(
    changes.map(async ({ path, after }) => ({ path, bytes: after === null ? null : await store.readBlob(after) })),
  );
}
