/** Writes a commit with a tree that combines the code as of that step, the session's published files, and the new files. */
import type { Ident, ObjectBatch, Store } from '../../ports/git.ts';
import { attributesPath, configPath } from '../../session/global/global-files.ts';
import { joinPath, sessionDir, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import { editTree, type TreeEdit } from '../../session/paths/edit-tree.ts';
import type { EntryContent, FileEdit } from './append-drafts.ts';

export interface CommitBase {
  /** Null when the commit has no parent. */
  tip: Oid | null;
  /** The newest entry at or below the tip; its published files stay. Null when no session continues. */
  entryOid: Oid | null;
  session: SessionId | null;
}

export type CommitContent = Pick<EntryContent, 'message' | 'files'> &
  Partial<Pick<EntryContent, 'tree' | 'edits' | 'at'>>;

/** A written commit. `edits` lists all its changes to the tip's tree; null when they have not been computed yet. */
export interface WrittenCommit {
  commit: Oid;
  edits: TreeEdit[] | null;
}

/** Adds the commit's objects to `batch`, without flushing it. */
export async function writeCommit(
  store: Store,
  batch: ObjectBatch,
  base: CommitBase,
  { message, files, tree: code = null, edits: own = [], at }: CommitContent,
): Promise<WrittenCommit> {
  const { tip } = base;
  const from = tip === null ? { tree: null, isTip: false } : await readBase(store, batch, { ...base, tip }, code);
  const edits = [...own, ...(await writeFiles(batch, files))];
  const tree = await editTree(store, batch, from.tree, edits);
  const ident = dateAuthor(await store.ident(), at);
  const commit = await batch.commit({ tree, parents: tip === null ? [] : [tip], ...ident, message });
  return { commit, edits: from.isTip ? edits : null };
}

/** Sets the author date to `at`, in UTC, and keeps the committer date. */
export function dateAuthor({ author, committer }: Ident, at: string | undefined): Ident {
  const seconds = Math.floor(Date.parse(at ?? '') / 1000);
  return { author: seconds > 0 ? author.replace(/ \d+ [+-]\d{4}$/, ` ${seconds} +0000`) : author, committer };
}

async function writeFiles(batch: ObjectBatch, files: readonly FileEdit[]): Promise<TreeEdit[]> {
  return Promise.all(
    files.map(async ({ path, bytes, executable }) => ({
      path,
      entry: bytes === null ? null : { mode: executable ? '100755' : '100644', oid: await batch.blob(bytes) },
    })),
  );
}

/**
 * Returns the tree on which an entry builds: the code of `code` or of the tip, with the session's published files from
 * the last entry. Repairs files that a user's commit removed or changed.
 */
async function readBase(
  store: Store,
  batch: ObjectBatch,
  base: CommitBase & { tip: Oid },
  code: Oid | null,
): Promise<{ tree: Oid; isTip: boolean }> {
  const { tree } = await store.readCommit(base.tip);
  const published = await readPublished(store, base);
  if (code === null && published.length === 0) return { tree, isTip: true };
  const edits = [...(code === null ? [] : await keepSessionFiles(store, tree, code)), ...published];
  const made = await editTree(store, batch, code ?? tree, edits);
  // The next edit of this tree reads the tree from the store.
  await batch.flush();
  return { tree: made, isTip: false };
}

/** Within `.teddy/`, takes only the user's own config file from the code's tree. */
async function keepSessionFiles(store: Store, tip: Oid, code: Oid): Promise<TreeEdit[]> {
  const teddyDir = '.teddy' as RepoPath;
  const [kept, own] = await Promise.all([tip, code].map((tree) => store.readDir(tree, teddyDir)));
  const config = own?.entries.find(({ name }) => joinPath(teddyDir, name) === configPath);
  return [toDirEdit(teddyDir, kept?.oid ?? null), { path: configPath, entry: config ?? null }];
}

function toDirEdit(path: RepoPath, oid: Oid | null): TreeEdit {
  return { path, entry: oid === null ? null : { mode: '40000', oid } };
}

async function readPublished(store: Store, { tip, entryOid, session }: CommitBase & { tip: Oid }): Promise<TreeEdit[]> {
  if (session === null || entryOid === null || entryOid === tip) return [];
  return [...(await restoreSession(store, entryOid, tip, session)), ...(await restoreAttributes(store, entryOid, tip))];
}

async function restoreSession(store: Store, entry: Oid, tip: Oid, session: SessionId): Promise<TreeEdit[]> {
  const dir = sessionDir(session);
  const [before, now] = await Promise.all([store.readDir(entry, dir), store.readDir(tip, dir)]);
  if (before === null || before.oid === now?.oid) return [];
  const own = joinPath(dir, 'session.context');
  const kept = now?.entries.find(({ name }) => name === 'session.context');
  return [toDirEdit(dir, before.oid), ...(kept ? [{ path: own, entry: { mode: kept.mode, oid: kept.oid } }] : [])];
}

async function restoreAttributes(store: Store, entry: Oid, tip: Oid): Promise<TreeEdit[]> {
  if ((await store.readFile(tip, attributesPath)) !== null) return [];
  const before = await store.readFile(entry, attributesPath);
  return before === null ? [] : [{ path: attributesPath, entry: { mode: '100644', oid: before.oid } }];
}
