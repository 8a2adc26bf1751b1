/** The one way a line changes: objects first, then one ref update by compare-and-swap, then index and files. */
import { TeddyError } from '../errors.ts';
import type { ObjectBatch, Project, Publication, Store, TreeMode, Workspace } from '../ports.ts';
import { encodeEntry, type Entry } from '../session/entry.ts';
import { attributesPath, configPath, isSessionPath } from '../session/global-files.ts';
import {
  joinPath,
  sessionDir,
  shortRef,
  type Oid,
  type RefName,
  type RepoPath,
  type SessionId,
} from '../session/names.ts';
import { editTree, type TreeEdit } from './edit-tree.ts';
import { maskEntry } from './mask-text.ts';
import { findEntry } from './read-line.ts';

const maxAttempts = 10;
const teddyDir = '.teddy' as RepoPath;

export interface FileEdit {
  path: RepoPath;
  /** Null removes the file. */
  bytes: Uint8Array | string | null;
}

export interface Draft {
  entry: Entry;
  /** Files to set, usually below `.teddy/`. */
  files: FileEdit[];
  /** A tree whose code (all but `.teddy/`) the entry takes; without it, the tip's. */
  codeTree?: Oid;
}

export interface Appended {
  commit: Oid;
  parent: Oid | null;
}

export interface Target {
  ref: RefName;
  /** The work tree whose HEAD is on the line, if any: its index and files follow. */
  workspace: Workspace | null;
}

/**
 * Appends one entry. `decide` gets the tip and says what to append there; after a lost race it is asked again with the
 * new tip, and throws if its entry no longer fits. Throws REF_MOVED after ten lost races.
 */
export async function appendEntry(
  project: Project,
  target: Target,
  decide: (tip: Oid) => Draft | Promise<Draft>,
): Promise<Appended> {
  const { store } = project.repository;
  let { workspace } = target;
  return retryWhileMoved(target.ref, async () => {
    const tip = await store.resolve(target.ref);
    if (tip === null)
      throw new TeddyError('REF_MOVED', `${shortRef(target.ref)} is gone.`, '`teddy session list` shows the lines.');
    const draft = await decide(tip);
    const commit = await publishDraft(project, { ref: target.ref, workspace }, tip, draft);
    if (commit !== null) return { commit, parent: tip };
    // A command of a plan, or the user in another terminal, may have switched branches: then only the ref has to move.
    if (workspace && (await workspace.head()).ref !== target.ref) {
      project.notices.warn(`HEAD has left ${shortRef(target.ref)}; the entry goes there all the same.`);
      workspace = null;
    }
    return null;
  });
}

/** `attempt` returns null after a lost race, and then starts from what is there now. Throws REF_MOVED after ten. */
export async function retryWhileMoved<Value>(ref: RefName, attempt: () => Promise<Value | null>): Promise<Value> {
  for (let count = 1; count <= maxAttempts; count += 1) {
    const value = await attempt();
    if (value !== null) return value;
    await waitForOthers(count);
  }
  throw new TeddyError(
    'REF_MOVED',
    `${shortRef(ref)} moved ${maxAttempts} times while an entry was appended.`,
    'Another program is busy on this line; run the command again.',
  );
}

function waitForOthers(attempt: number): Promise<void> {
  // Grows, so that many writers spread out instead of losing to each other again.
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 15 * 2 ** Math.min(attempt, 6)));
}

/**
 * One attempt: null when the ref was not at `parent`, and nothing has changed then. With `create`, the ref must not exist
 * and `parent` (null: none) is where the new line starts from.
 */
export async function publishDraft(
  project: Project,
  target: Target,
  parent: Oid | null,
  draft: Draft,
  options: { create?: boolean } = {},
): Promise<Oid | null> {
  const { store } = project.repository;
  const batch = store.batch();
  const base = parent === null ? noBase : await readBase(store, batch, parent, draft, options.create === true);
  const edits = await writeFiles(batch, draft.files);
  const tree = await editTree(store, batch, base.tree, edits);
  const ident = await store.ident();
  const message = encodeEntry(await maskEntry(project.masker, draft.entry));
  const commit = await batch.commit({ tree, parents: parent === null ? [] : [parent], ...ident, message });
  // Written while the publication is prepared, which waits for them before the ref moves.
  const durable = batch.flush();
  durable.catch(() => undefined);
  const reflog = `teddy: ${message.split('\n')[0] ?? ''}`;
  const { ref, workspace } = target;
  const old = options.create === true ? null : parent;
  if (!workspace) {
    const moved = await store.updateRefs([{ ref, old, new: commit }], reflog, durable);
    return moved === 'done' ? commit : null;
  }
  const followers = base.isTip
    ? toFollowers(edits, draft.files)
    : await durable.then(() => findFollowers(store, old, commit));
  const outcome = await workspace.publish({ ref, old, new: commit, reflog, durable, ...followers });
  return outcome === 'done' ? commit : null;
}

async function writeFiles(batch: ObjectBatch, files: FileEdit[]): Promise<TreeEdit[]> {
  return Promise.all(
    files.map(async ({ path, bytes }) => ({
      path,
      entry: bytes === null ? null : { mode: '100644' as const, oid: await batch.blob(bytes) },
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

/** Of `.teddy/`, the code's tree decides about nothing but the user's own file. */
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

/** What index and work tree have to follow: exactly the paths that the commit changed. */
async function findFollowers(
  store: Store,
  tip: Oid | null,
  commit: Oid,
): Promise<Pick<Publication, 'index' | 'files'>> {
  const changes = await store.diffTrees(tip, commit);
  const index = changes.map(({ path, after, mode }) => ({
    path,
    entry: after === null || mode === null ? null : { oid: after, mode: mode as TreeMode },
  }));
  const session = changes.filter(({ path }) => isSessionPath(path));
  const files = await Promise.all(
    session.map(async ({ path, after }) => ({ path, bytes: after === null ? null : await store.readBlob(after) })),
  );
  return { index, files };
}

/** The same without asking git, when only the draft's own files change. */
function toFollowers(edits: TreeEdit[], files: FileEdit[]): Pick<Publication, 'index' | 'files'> {
  return {
    index: edits,
    files: files.map(({ path, bytes }) => ({
      path,
      bytes: typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes,
    })),
  };
}
