/** An entry as a commit: its tree is the code as of that step, what the session has published, and the entry's own files. */
import type { Ident, ObjectBatch, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { encodeEntry, type Entry } from '../../session/entry.ts';
import { toLaterId } from '../../session/logged-entry.ts';
import { attributesPath, configPath } from '../../session/global-files.ts';
import { joinPath, sessionDir, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import { editTree, type TreeEdit } from '../../session/edit-tree.ts';
import { maskEntry } from './mask-text.ts';
import { findEntry } from './read.ts';

const teddyDir = '.teddy' as RepoPath;

export interface FileEdit {
  path: RepoPath;
  /** Null removes the file. */
  bytes: Uint8Array | string | null;
  executable?: boolean;
}

export interface Draft {
  entry: Entry;
  /** Files to set, usually below `.teddy/`. */
  files: FileEdit[];
  /** When it came about, ISO 8601, for the author's date; without it, now. */
  at?: string | undefined;
  /** A tree whose code (all but `.teddy/`) the entry takes; without it, the tip's. */
  codeTree?: Oid;
}

export interface WrittenEntry {
  commit: Oid;
  message: string;
  /** The edits that the draft's own files make. */
  edits: TreeEdit[];
  /** The entry changes nothing of the tip's tree but these files. */
  isOnTip: boolean;
}

/** The next entry has a later id of its own, and the rest of the one before it. */
export function nextAfter(last: Entry, { ids }: Project): Pick<Entry, 'session' | 'id' | 'created'> {
  return { session: last.session, id: toLaterId(ids.entryId(), last), created: last.created };
}

/** The commit that would be appended, as an object on no branch. Durable. With `starts`, that of a new line. */
export async function writeDraft(
  project: Project,
  parent: Oid | null,
  draft: Draft,
  { starts = false }: { starts?: boolean } = {},
): Promise<Oid> {
  const batch = project.repository.store.batch();
  const { commit } = await writeCommit(project, batch, parent, draft, starts);
  await batch.flush();
  return commit;
}

export async function writeCommit(
  project: Project,
  batch: ObjectBatch,
  parent: Oid | null,
  draft: Draft,
  starts: boolean,
): Promise<WrittenEntry> {
  const { store } = project.repository;
  const base = parent === null ? noBase : await readBase(store, batch, parent, draft, starts);
  const edits = await writeFiles(batch, draft.files);
  const tree = await editTree(store, batch, base.tree, edits);
  const ident = dateAuthor(await store.ident(), draft.at);
  const message = encodeEntry(await maskEntry(project.masker, draft.entry));
  const commit = await batch.commit({ tree, parents: parent === null ? [] : [parent], ...ident, message });
  return { commit, message, edits, isOnTip: base.isTip };
}

/** The author's date becomes `at`, in UTC; the committer's stays. */
export function dateAuthor({ author, committer }: Ident, at: string | undefined): Ident {
  const seconds = Math.floor(Date.parse(at ?? '') / 1000);
  return { author: seconds > 0 ? author.replace(/ \d+ [+-]\d{4}$/, ` ${seconds} +0000`) : author, committer };
}

async function writeFiles(batch: ObjectBatch, files: FileEdit[]): Promise<TreeEdit[]> {
  return Promise.all(
    files.map(async ({ path, bytes, executable }) => ({
      path,
      entry: bytes === null ? null : { mode: executable ? '100755' : '100644', oid: await batch.blob(bytes) },
    })),
  );
}

/**
 * The tree that an entry builds on: the code of `codeTree` or of the tip, with the session's published files as the last
 * entry has them. A commit of the user's that lost or changed them is so put right.
 */
async function readBase(
  store: Store,
  batch: ObjectBatch,
  tip: Oid,
  { codeTree }: Draft,
  starts: boolean,
): Promise<Base> {
  const { tree } = await store.readCommit(tip);
  // A session may start on any commit; only a line has something published to keep.
  const published = starts ? null : await readPublished(store, tip);
  if (codeTree === undefined && published === null) return { tree, isTip: true };
  const edits = [
    ...(codeTree === undefined ? [] : await keepSessionFiles(store, tree, codeTree)),
    ...(published ?? []),
  ];
  return { tree: await flushed(batch, await editTree(store, batch, codeTree ?? tree, edits)), isTip: false };
}

/** In `.teddy/`, the code's tree decides about nothing but the user's own file. */
async function keepSessionFiles(store: Store, tip: Oid, codeTree: Oid): Promise<TreeEdit[]> {
  const [kept, code] = await Promise.all([tip, codeTree].map((tree) => store.readDir(tree, teddyDir)));
  const config = code?.entries.find(({ name }) => joinPath(teddyDir, name) === configPath);
  return [toDirEdit(teddyDir, kept?.oid ?? null), { path: configPath, entry: config ?? null }];
}

interface Base {
  tree: Oid | null;
  /** It is the tip's own tree: the entry changes nothing but its files. */
  isTip: boolean;
}

const noBase: Base = { tree: null, isTip: false };

/** The next edit of this tree reads it from the store. */
async function flushed(batch: ObjectBatch, tree: Oid): Promise<Oid> {
  await batch.flush();
  return tree;
}

function toDirEdit(path: RepoPath, oid: Oid | null): TreeEdit {
  return { path, entry: oid === null ? null : { mode: '40000', oid } };
}

async function readPublished(store: Store, tip: Oid): Promise<TreeEdit[] | null> {
  const { oid, entry } = await findEntry(store, tip);
  if (oid === tip) return null;
  const edits = [
    ...(await restoreSession(store, oid, tip, entry.session)),
    ...(await restoreAttributes(store, oid, tip)),
  ];
  return edits.length === 0 ? null : edits;
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
