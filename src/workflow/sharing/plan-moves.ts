/** Plans how merging the remote's lines changes each local line. Only reads values and asks git; moves nothing. */
import type { RefTip, Store, TreeFile } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import {
  turnNumber,
  toTurnName,
  shortRef,
  sessionDir,
  isTurnName,
  conversationBranchRef,
  archiveRef,
  archivePrefix,
  type Oid,
  type RefName,
  type SessionId,
  type RepoPath,
} from '../../names.ts';
import { readAncestry, toStanding, type Standing } from './reconcile.ts';
import { readTakenRefs, type SharedTips } from './shared-refs.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { findFork } from '../../session/entries/ancestry.ts';
import { TeddyError } from '../../errors.ts';
import { parseGlobalFile } from '../../session/global/global-files.ts';
import { mergeGlobalFile } from '../../session/global/merge-global.ts';
import { type TreeEdit, editTree } from '../../session/paths/edit-tree.ts';
import { isTrusted, trustTexts } from '../line/foreign-texts.ts';
import { toText } from '../../view/view.ts';

/** A change to a local line. `moved`: the remote's commits keep the name, and `tail` contains the local-only commits. */
export interface Move {
  ref: RefName;
  old: Oid | null;
  new: Oid;
  kind: 'taken' | 'made' | 'merged' | 'moved';
  tail: Tail | null;
}

export interface StandingTips extends SharedTips {
  standing: Standing;
}

export async function readStandings(project: Project, tips: readonly SharedTips[]): Promise<StandingTips[]> {
  const contains = await readAncestry(project.repository.store, tips);
  return tips.map((one) => ({ ...one, standing: toStanding(one, contains) }));
}

/** `listed` contains the remote's refs; the returned `notes` are for the user. */
export async function planMoves(
  project: Project,
  lines: readonly StandingTips[],
  listed: readonly RefTip[],
): Promise<{ moves: Move[]; notes: string[] }> {
  const { store } = project.repository;
  const diverged = lines.some(({ standing }) => standing === 'diverged');
  const taken = diverged ? await readTakenRefs(store, listed) : new Set<string>();
  const moves: Move[] = [];
  const notes: string[] = [];
  for (const line of lines) {
    const { ref, session, local, remote, standing } = line;
    if (remote === null) continue;
    const move = { ref, old: local, new: remote, tail: null };
    if (standing === 'pull') moves.push({ ...move, kind: 'taken' });
    if (standing === 'only-remote') moves.push({ ...move, kind: 'made' });
    if (standing !== 'diverged' || local === null) continue;
    if (session === null) {
      const merged = await mergeRemoteGlobal(project, local, remote);
      moves.push({ ...move, new: merged.commit, kind: 'merged' });
      notes.push(...merged.notes);
      continue;
    }
    const tail = await toTail(store, { ref, session, local, remote }, taken, findKeepers(lines, session));
    moves.push({ ...move, kind: 'moved', tail });
  }
  return { moves, notes };
}

const stays: ReadonlySet<Standing> = new Set(['same', 'push', 'only-local', 'gone', 'archived-there']);

/**
 * Finds a session's lines that this repository certainly has, with their tips; a line that still has to move may be
 * blocked.
 */
function findKeepers(lines: readonly StandingTips[], session: SessionId): Map<RefName, Oid> {
  return new Map(
    lines.flatMap(({ ref, session: owner, local, remote, standing }) => {
      const tip = stays.has(standing) ? local : standing === 'only-remote' ? remote : null;
      return owner !== session || tip === null ? [] : [[ref, tip] as const];
    }),
  );
}

/** The branch for local-only commits, when the remote's commits keep the line's name. */
interface Tail {
  ref: RefName;
  /** False when another of the session's lines already ends at the same commit. */
  isNew: boolean;
}

/**
 * Names the tail after the turn at which it leaves, with the first free number, and adds the name to `taken`. `lines`
 * are the session's lines that this repository will have.
 */
async function toTail(
  store: Store,
  { ref, session, local, remote }: { ref: RefName; session: SessionId; local: Oid; remote: Oid },
  taken: Set<string>,
  lines: ReadonlyMap<RefName, Oid>,
): Promise<Tail> {
  const isArchive = ref.startsWith(archivePrefix);
  const known = [...lines].find(
    ([name, oid]) => oid === local && name !== ref && name.startsWith(archivePrefix) === isArchive,
  );
  if (known !== undefined) return { ref: known[0], isNew: false };
  const turn = await readLeavingTurn(store, session, local, remote);
  for (let number = 1; ; number += 1) {
    const branch = conversationBranchRef(session, toTurnName(turn, number));
    const name = shortRef(branch).replace(/^teddy\//, '');
    if (taken.has(name)) continue;
    taken.add(name);
    return { ref: isArchive ? archiveRef(branch) : branch, isNew: true };
  }
}

/**
 * Returns the turn of the first entry that is only on the tail; when none of its entries has a turn, the next turn's
 * number.
 */
async function readLeavingTurn(store: Store, session: SessionId, local: Oid, remote: Oid): Promise<number> {
  const fork = await findFork(store, remote, [local]);
  let first: number | null = null;
  for await (const { commit } of store.firstParents(local, fork === null ? [] : [fork])) {
    const turn = decodeEntry(commit.message)?.turn;
    if (turn != null) first = turnNumber(turn);
  }
  if (first !== null) return first;
  const dir = fork === null ? null : await store.readDir(fork, sessionDir(session));
  const numbers = (dir?.entries ?? []).flatMap(({ name }) => (isTurnName(name) ? [turnNumber(name)] : []));
  return Math.max(0, ...numbers) + 1;
}

/** `teddy/global` after changes in both repositories: one commit on top of both, with both sides' additions and removals. */
interface MergedGlobal {
  commit: Oid;
  /** Sentences about lines that the user should look at. */
  notes: string[];
}

interface Merge {
  project: Project;
  edits: TreeEdit[];
  notes: string[];
  /** The local commit, for the notes. */
  local: Oid;
  /** Names that are not available. */
  taken: Set<string>;
}

type Sides = Record<'base' | 'mine' | 'theirs', TreeFile | undefined>;

/**
 * Creates a commit with both as parents, the remote's first, and moves no ref. When only the user could merge a file,
 * keeps the remote's version, and stores the local version next to it under another name.
 */
async function mergeRemoteGlobal(project: Project, local: Oid, remote: Oid): Promise<MergedGlobal> {
  const { store } = project.repository;
  const base = await store.mergeBase(local, [remote]);
  const files = await readSides(store, { base, mine: local, theirs: remote });
  const merge: Merge = { project, edits: [], notes: [], local, taken: new Set(files.keys()) };
  for (const [path, sides] of files) await mergeFile(merge, path, sides);
  const batch = store.batch();
  const tree = await editTree(store, batch, (await store.readCommit(remote)).tree, merge.edits);
  const message = 'global: bring together what two repositories have changed\n';
  const commit = await batch.commit({ tree, parents: [remote, local], ...(await store.ident()), message });
  await batch.flush();
  return { commit, notes: merge.notes };
}

async function readSides(store: Store, tips: Record<keyof Sides, Oid | null>): Promise<Map<RepoPath, Sides>> {
  const read = async (tip: Oid | null) => (tip === null ? [] : store.listTree(tip));
  const [base, mine, theirs] = await Promise.all([tips.base, tips.mine, tips.theirs].map(read));
  const byPath = (files: TreeFile[] = []) => new Map(files.map((file) => [file.path, file]));
  const sides = { base: byPath(base), mine: byPath(mine), theirs: byPath(theirs) };
  const paths = new Set([...sides.base.keys(), ...sides.mine.keys(), ...sides.theirs.keys()]);
  return new Map(
    [...paths].map((path) => [
      path,
      { base: sides.base.get(path), mine: sides.mine.get(path), theirs: sides.theirs.get(path) },
    ]),
  );
}

async function mergeFile(merge: Merge, path: RepoPath, { base, mine, theirs }: Sides): Promise<void> {
  if (isSame(mine, base) || isSame(mine, theirs)) return;
  if (isSame(theirs, base)) return put(merge, path, mine);
  // One side changed the file and the other removed it; the merge keeps the changed file.
  if (mine === undefined) return;
  if (theirs === undefined) return put(merge, path, mine);
  const text = await mergeTexts(merge, path, { base, mine, theirs });
  if (text === null) return keepBeside(merge, path, mine);
  await putText(merge, path, text);
}

function isSame(a: TreeFile | undefined, b: TreeFile | undefined): boolean {
  return a?.oid === b?.oid && a?.mode === b?.mode;
}

/** Returns null when only the user can merge the texts, or when one of them is not a list of memos. */
async function mergeTexts(
  { project }: Merge,
  path: RepoPath,
  { base, mine, theirs }: { base: TreeFile | undefined; mine: TreeFile; theirs: TreeFile },
): Promise<string | null> {
  const { store } = project.repository;
  const read = async (file: TreeFile | undefined) => (file === undefined ? '' : toText(await store.readBlob(file.oid)));
  const texts = { base: await read(base), mine: await read(mine), theirs: await read(theirs) };
  try {
    const text = mergeGlobalFile(path, texts);
    if (text !== null && path === 'global.context') await keepTrust(project, texts, text);
    return text;
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'DAMAGED_SESSION') return null;
    throw error;
  }
}

/** Merging two trusted lists adds nothing new, so teddy trusts the result as well. */
async function keepTrust(project: Project, texts: { mine: string; theirs: string }, merged: string): Promise<void> {
  const known = await Promise.all(
    [texts.mine, texts.theirs].map((text) => isTrusted(project, { kind: 'context', text })),
  );
  if (known.every(Boolean)) await trustTexts(project, [{ text: merged }]);
}

/** Keeps an agent under another name, so that the user can still choose it; any other file remains in the old local commit. */
function keepBeside(merge: Merge, path: RepoPath, mine: TreeFile): void {
  const agent = toAgent(path);
  if (agent === null) {
    merge.notes.push(
      `${path} on teddy/global was changed on both sides and cannot be merged: the remote's version is kept; yours: git show ${merge.local.slice(0, 12)}:${path}`,
    );
    return;
  }
  let number = 2;
  while (merge.taken.has(`agents/${agent}-${number}.md`)) number += 1;
  const beside = `agents/${agent}-${number}.md` as RepoPath;
  merge.taken.add(beside);
  put(merge, beside, mine);
  merge.notes.push(
    `${path} on teddy/global was changed on both sides: the remote's version is kept, yours is now ${beside}.`,
  );
}

function toAgent(path: string): string | null {
  try {
    return parseGlobalFile(path).agent;
  } catch {
    // A user's own file that is not an agent.
    return null;
  }
}

function put({ edits }: Merge, path: RepoPath, file: TreeFile | undefined): void {
  edits.push({ path, entry: file === undefined ? null : { mode: file.mode, oid: file.oid } });
}

async function putText({ project, edits }: Merge, path: RepoPath, text: string): Promise<void> {
  const batch = project.repository.store.batch();
  const oid = await batch.blob(text);
  await batch.flush();
  edits.push({ path, entry: { mode: '100644', oid } });
}
