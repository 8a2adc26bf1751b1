/** Finds every line in the repository: each local, remote or archived branch with a nearest entry in a session. */
import type { RefTip, SessionSource } from '../../ports/git.ts';
import { decodeEntry } from '../entries/entry.ts';
import {
  archivePrefix,
  globalRef,
  mainLineRef,
  parseArchiveRef,
  parseLineRef,
  turnNumber,
  type Oid,
  type RefName,
  type SessionId,
  type TurnName,
} from '../../names.ts';
import { isOnLine } from '../entries/ancestry.ts';
import { findNearestEntry, type NearestEntry } from '../entries/nearest-entry.ts';
import { isArchivedIn, listArchives } from './archives.ts';
import {
  findNearestHeads,
  findOlder,
  openLineIndex,
  type LineIndex,
  type NearestHead,
  type Newest,
} from './line-index.ts';

/** Do not save fewer changed tips than this: rereading them is fast, and a command that only looks up a line writes nothing. */
const fewTips = 64;
const remoteHead = 'refs/remotes/origin/HEAD' as RefName;

export interface KnownLine {
  ref: RefName;
  oid: Oid;
  session: SessionId;
  /** The line's actual or potential local branch, `refs/heads/...`, for remote-tracking branches and archives too. */
  branchRef: RefName;
  /** The remote that has the line; null for a local branch or an archive. */
  remote: string | null;
  isArchived: boolean;
  /** True when the line's name is `teddy/<session>`. */
  isMain: boolean;
  /** The turn in the name of a conversation branch of the session; null for any other name. */
  branch: TurnName | null;
  nearest: NearestHead;
}

/** Lists local branches first, then the remotes' lines, then archives, each sorted by name. Omits stale lines. */
export async function listLines(project: SessionSource, options: { archived?: boolean } = {}): Promise<KnownLine[]> {
  return (await listLinesAndTips(project, options)).lines;
}

/** The tips of all local and remote-tracking branches, of notes, and of HEAD if known. */
export type Tips = ReadonlyMap<RefName, Oid>;

/**
 * Lists lines and tips. `older` counts the sessions that are not among the `newest`. `stale` lists a remote's lines
 * that have no local branch and are completely in a local archive. Pass the tips as `listed` if git has just listed
 * them.
 */
export async function listLinesAndTips(
  project: SessionSource,
  { archived = false, newest, listed }: { archived?: boolean; newest?: Newest; listed?: readonly RefTip[] } = {},
): Promise<{ lines: KnownLine[]; stale: KnownLine[]; tips: Tips; older: number }> {
  const { store } = project.repository;
  const prefixes = ['refs/heads/', 'refs/remotes/', ...(archived ? [archivePrefix] : [])];
  const listing = listed ?? store.listRefs(...prefixes, 'refs/notes/');
  const [index, refs] = await Promise.all([openLineIndex(project.repository.cache), listing]);
  const candidates = refs.filter(({ ref }) => isCandidate(ref));
  const older = newest === undefined ? null : await findOlder(project, index, candidates, newest);
  const tips = older === null ? candidates : candidates.filter(({ ref }) => !older.has(ref));
  const nearest = await findNearestHeads(project, index, tips);
  index.setListed(prefixes, candidates);
  let defaults: Defaults | null = null;
  const lines: KnownLine[] = [];
  for (const [at, tip] of tips.entries()) {
    const found = nearest[at];
    const line = found ? toLine(tip, found) : null;
    if (line === null) continue;
    // A branch named after its session needs no further check.
    const isNamed = line.isMain || line.branch !== null;
    if (isNamed || (await isLine(project, line, (defaults ??= await readDefaults(project))))) lines.push(line);
  }
  const stale = await findStale(project, index, lines);
  await index.save(fewTips);
  const all = new Map(refs.map(({ ref, oid }) => [ref, oid]));
  return { lines: lines.filter((line) => !stale.has(line)), stale: [...stale], tips: all, older: older?.size ?? 0 };
}

async function findStale(
  project: SessionSource,
  index: LineIndex,
  lines: readonly KnownLine[],
): Promise<Set<KnownLine>> {
  const { store } = project.repository;
  const stale = new Set<KnownLine>();
  const remote = lines.filter((line) => line.remote !== null);
  if (remote.length === 0) return stale;
  const here = new Set(lines.flatMap((line) => (line.remote === null && !line.isArchived ? [line.branchRef] : [])));
  const absent = remote.filter(({ branchRef }) => !here.has(branchRef));
  if (absent.length === 0) return stale;
  const kept = new Map((await listArchives(store)).map(({ line, oid }) => [line, oid]));
  for (const line of absent) {
    const { isMain, branch, branchRef, session } = line;
    // A differently named main line is archived under its session's name.
    const archive = kept.get(isMain || branch !== null ? branchRef : mainLineRef(session));
    if (archive !== undefined && (await isArchivedIn(store, index, line, archive))) stale.add(line);
  }
  return stale;
}

/** Excludes notes, `teddy/global`, which belongs to all sessions, and a remote's HEAD, which duplicates a branch. */
function isCandidate(ref: RefName): boolean {
  return ref !== globalRef && !/^refs\/(?:notes\/|remotes\/(?:.*\/teddy\/global|[^/]+\/HEAD)$)/.test(ref);
}

function toLine({ ref, oid }: RefTip, nearest: NearestHead): KnownLine | null {
  const { session } = nearest.entry;
  const isArchived = ref.startsWith(archivePrefix);
  const remote = /^refs\/remotes\/([^/]+)\//.exec(ref)?.[1] ?? null;
  const branchRef = isArchived
    ? (parseArchiveRef(ref)?.line ?? null)
    : remote === null
      ? ref
      : (`refs/heads/${ref.slice(`refs/remotes/${remote}/`.length)}` as RefName);
  if (branchRef === null) return null;
  const parsed = parseLineRef(branchRef);
  const named = parsed?.session === session ? parsed : null;
  const isMain = named?.branch === null;
  return { ref, oid, session, branchRef, remote, isArchived, isMain, branch: named?.branch ?? null, nearest };
}

interface Defaults {
  branches: RefTip[];
  /** The branches' nearest entries; a fast-forward landing leaves entries on a branch. */
  entries: NearestEntry[];
}

async function readDefaults(project: SessionSource): Promise<Defaults> {
  const branches = await readDefaultBranches(project);
  const tips = [...new Set(branches.flatMap(({ ref, oid }) => (ref === globalRef ? [] : [oid])))];
  const entries = await Promise.all(tips.map((oid) => findNearestEntry(project, oid)));
  return { branches, entries: entries.filter((entry) => entry !== null) };
}

/**
 * Returns true if a branch is a line. The default branch, the session's base branch, and branches that grow from either
 * are not lines, because a fast-forward landing leaves the session's entries on them.
 */
export async function isLine(
  project: SessionSource,
  line: Pick<KnownLine, 'branchRef' | 'session' | 'nearest'>,
  known?: Defaults,
): Promise<boolean> {
  if (parseLineRef(line.branchRef)?.session === line.session) return true;
  const { branches, entries } = known ?? (await readDefaults(project));
  if (branches.some(({ ref }) => ref === line.branchRef)) return false;
  for (const entry of entries) if (await holds(project, entry, line.nearest)) return false;
  // A squash merge leaves no `start` below the commit; the session's own line still has one.
  const branch =
    (await readBaseBranch(project, line.nearest.oid)) ?? (await readBaseBranch(project, mainLineRef(line.session)));
  if (branch === null) return true;
  const base = `refs/heads/${branch}` as RefName;
  if (base === line.branchRef) return false;
  const tip = await project.repository.store.resolve(base);
  const entry = tip === null ? null : await findNearestEntry(project, tip);
  return entry === null || !(await holds(project, entry, line.nearest));
}

/** Returns true if the first parents of a branch whose nearest entry is `entry` also contain the other entry. */
async function holds(
  project: SessionSource,
  entry: NearestEntry,
  { oid }: Pick<NearestEntry, 'oid'>,
): Promise<boolean> {
  return entry.oid === oid || isOnLine(project.repository.store, entry.oid, oid);
}

/**
 * Lists the default branches: the remote's, the local ones, which may be ahead, and `teddy/global`, because its memos
 * are entries too. When a remote's HEAD is on a session's branch, the remote's `main` counts instead. `listed` is the
 * same as for `listLinesAndTips`.
 */
export async function readDefaultBranches(project: SessionSource, listed?: Tips): Promise<RefTip[]> {
  const { store } = project.repository;
  const usual = [(await store.setting('init.defaultBranch')) ?? 'main', 'main', 'master'];
  const names = new Set(usual.map((name) => `refs/heads/${name}`));
  const resolve = async (ref: RefName) => (listed === undefined ? store.resolve(ref) : (listed.get(ref) ?? null));
  const find = async (refs: string[]) => {
    const tips = await Promise.all((refs as RefName[]).map(async (ref) => ({ ref, oid: await resolve(ref) })));
    return tips.flatMap(({ ref, oid }) => (oid === null ? [] : [{ ref, oid }]));
  };
  const [head] = await find([remoteHead]);
  const isTaken = head !== undefined && (await isOnSession(project.repository, head.oid, listed));
  const theirs = isTaken ? [...names].map((name) => name.replace('heads/', 'remotes/origin/')) : [remoteHead];
  return find([...theirs, ...names, globalRef]);
}

/** Returns true if the remote's branches at this commit are all sessions' branches. */
async function isOnSession({ store }: SessionSource['repository'], head: Oid, listed?: Tips): Promise<boolean> {
  const prefix = 'refs/remotes/origin/';
  const tips = listed === undefined ? await store.listRefs(prefix) : [...listed].map(([ref, oid]) => ({ ref, oid }));
  const there = tips.filter(({ ref, oid }) => oid === head && ref.startsWith(prefix) && ref !== remoteHead);
  const names = there.map(({ ref }) => ref.replace(prefix, 'refs/heads/') as RefName);
  return names.length > 0 && names.every((name) => parseLineRef(name) !== null);
}

/**
 * Returns the branch from which the session started; for a session that started on another session's line, the branch
 * from which the whole stack started. Returns null when HEAD was detached or the history is cut off.
 */
export async function readBaseBranch(project: SessionSource, from: Oid | RefName): Promise<string | null> {
  return (await readBaseStart(project, from))?.branch ?? null;
}

/** A session's base branch, and the commit that records it. */
export interface BaseStart {
  branch: string;
  oid: Oid;
}

export async function readBaseStart(project: SessionSource, from: Oid | RefName): Promise<BaseStart | null> {
  const { store } = project.repository;
  const tip = await store.resolve(from);
  if (tip === null) return null;
  for await (const { commit, oid } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind !== 'start') continue;
    const { baseBranch } = entry;
    if (baseBranch === undefined) return null;
    // Earlier versions recorded the other session's line; the start of that session, further down, names its branch.
    if (parseLineRef(`refs/heads/${baseBranch}`) === null) return { branch: baseBranch, oid };
  }
  return null;
}

/**
 * Chooses the line that represents its session: the one with the session's name, otherwise the differently named branch
 * that is furthest ahead (the main line was renamed), otherwise a conversation branch. `lines` belong to one session
 * and are of one kind.
 */
export function chooseMain<Line extends Pick<KnownLine, 'isMain' | 'branch' | 'nearest' | 'ref'>>(
  lines: readonly Line[],
): Line | undefined {
  const rank = ({ isMain, branch }: Line) => (isMain ? 0 : branch === null ? 1 : 2);
  const turn = ({ nearest }: Line) => (nearest.entry.turn === null ? 0 : turnNumber(nearest.entry.turn));
  // Entry IDs sort by time.
  const later = (a: Line, b: Line) => (a.nearest.entry.id < b.nearest.entry.id ? 1 : -1);
  return lines.toSorted((a, b) => rank(a) - rank(b) || turn(b) - turn(a) || later(a, b))[0];
}
