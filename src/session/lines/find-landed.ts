/**
 * Finds which of many lines have landed in their current state. However many lines there are, a base branch that has
 * moved costs two git processes, and an unmoved one none.
 */
import type { SessionSource, SessionStore } from '../../ports/git.ts';
import { decodeLandings, landingText, listOwnBranches } from './landing.ts';
import { isOid, isTurnName, sessionDir, type Oid, type RefName, type RepoPath, type SessionId } from '../../names.ts';
import { mayFollowTurn } from '../entries/entry.ts';
import { isOnLine } from '../entries/ancestry.ts';
import { findNearestEntry } from '../entries/nearest-entry.ts';
import { readRows, writeRows } from '../entries/cached-rows.ts';
import { readDefaultBranches, type KnownLine, type Tips } from './lines.ts';
import type { SessionStart } from './session-starts.ts';

/**
 * Finds landed lines by the rules of `hasLandedAsItStands`: a base branch contains the line's tip, or a commit that
 * claims to have landed the line up to its tip.
 */
export async function findLanded(
  project: SessionSource,
  lines: readonly KnownLine[],
  starts: ReadonlyMap<SessionId, SessionStart>,
  listed?: Tips,
): Promise<Set<RefName>> {
  const { usual, own } = await readBaseTips(project, lines, starts, listed);
  const bases = new Map<Oid, BaseHistory>();
  for (const oid of [...usual, ...[...own.values()].flat()])
    if (!bases.has(oid)) bases.set(oid, await readBase(project, oid));
  const landed = new Set<RefName>();
  for (const line of lines) {
    // Without a turn, nothing can land.
    if (line.nearest.entry.turn === null) continue;
    const started = own.get(starts.get(line.session)?.branch ?? '') ?? [];
    for (const oid of new Set([...usual, ...started])) {
      const base = bases.get(oid);
      // A base branch mentions only a few lines, and the others do not need git.
      const isTold = base?.entries.has(line.nearest.oid) === true || base?.landings.has(line.session) === true;
      if (base !== undefined && isTold && (await holds(project, base, line))) landed.add(line.ref);
    }
  }
  return landed;
}

/**
 * Reads the tips of the default branches, of HEAD's branch, and of each branch, by name, from which one of these
 * sessions started; when that branch is gone, of its possible replacements.
 */
export async function readBaseTips(
  project: SessionSource,
  lines: readonly (Pick<KnownLine, 'session'> & { oid?: Oid })[],
  starts: ReadonlyMap<SessionId, SessionStart>,
  listed?: Tips,
): Promise<{ usual: Oid[]; own: ReadonlyMap<string, readonly Oid[]> }> {
  const { store } = project.repository;
  const defaults = (await readDefaultBranches(project, listed)).filter(({ ref }) => !ref.endsWith('/teddy/global'));
  const usual = new Set(defaults.map(({ oid }) => oid));
  const head = listed === undefined ? await store.resolve('HEAD') : (listed.get('HEAD' as RefName) ?? null);
  // A HEAD at a line's tip is not a base, so nothing more needs to be read.
  const isKnown = head === null || usual.has(head) || lines.some(({ oid }) => oid === head);
  if (!isKnown && (await findNearestEntry(project, head)) === null) usual.add(head);
  const named = new Set(lines.map(({ session }) => starts.get(session)?.branch ?? ''));
  let standIns: Promise<Oid[]> | null = null;
  const resolve = async (ref: RefName) => (listed === undefined ? store.resolve(ref) : (listed.get(ref) ?? null));
  const own = await Promise.all(
    [...named].map(async (branch): Promise<[string, readonly Oid[]]> => {
      const tip = await resolve(`refs/heads/${branch}` as RefName);
      if (tip !== null) return [branch, [tip]];
      standIns ??= listOwnBranches(project, listed).then((refs) => refs.map(({ oid }) => oid));
      return [branch, await standIns];
    }),
  );
  return { usual: [...usual], own: new Map(own) };
}

interface BaseHistory {
  oid: Oid;
  /** The entries that the branch reaches through merged lines. */
  entries: ReadonlySet<Oid>;
  landings: ReadonlyMap<SessionId, Oid[]>;
}

async function holds(project: SessionSource, base: BaseHistory, line: KnownLine): Promise<boolean> {
  const { oid, nearest } = line;
  if (
    base.entries.has(nearest.oid) &&
    (nearest.oid === oid || (await project.repository.store.isAncestor(oid, base.oid)))
  )
    return true;
  const tips = base.landings.get(line.session) ?? [];
  if (tips.includes(oid)) return true;
  for (const tip of tips) if (await isLandedUpTo(project, line, tip)) return true;
  return false;
}

/** Returns true if a landing of the line up to `tip` has landed its current state. */
export async function isLandedUpTo(
  project: SessionSource,
  line: Pick<KnownLine, 'oid' | 'session' | 'nearest'>,
  tip: Oid,
): Promise<boolean> {
  return tip === line.oid || (await isBehind(project, line, tip)) || isOnlyVerdictsSince(project, line, tip);
}

/**
 * Returns true if the entries after the line's landed part concern only landed turns: verdicts, or undos that were
 * themselves undone.
 */
export async function isOnlyVerdictsSince(
  { repository: { store } }: SessionSource,
  { oid, session, nearest }: Pick<KnownLine, 'oid' | 'session' | 'nearest'>,
  tip: Oid,
): Promise<boolean> {
  if (!mayFollowTurn(nearest.entry.kind) || (await store.resolve(tip)) === null) return false;
  if (!(await isOnLine(store, oid, tip))) return false;
  const [then, now] = await Promise.all([tip, oid].map((commit) => store.readDir(commit, sessionDir(session))));
  const turnsOf = (dir: typeof then) => (dir?.entries ?? []).map(({ name }) => name).filter(isTurnName);
  return turnsOf(then).join() === turnsOf(now).join() && hasSameCode(store, tip, oid);
}

/** Returns true if two commits are equal outside `.teddy`. */
export async function hasSameCode(store: SessionStore, a: Oid, b: Oid): Promise<boolean> {
  const [one, other] = await Promise.all(
    [a, b].map(async (commit) => (await store.readDir(commit, '' as RepoPath))?.entries ?? []),
  );
  const namesOf = (entries: typeof one = []) =>
    entries.filter(({ name }) => name !== '.teddy').map(({ mode, oid, name }) => `${mode} ${oid} ${name}`);
  return namesOf(one).join('\n') === namesOf(other).join('\n');
}

/** Returns true if the line is an earlier state of a landed one. Entry IDs sort by time, which settles most cases. */
async function isBehind(
  project: SessionSource,
  { oid, nearest }: Pick<KnownLine, 'oid' | 'nearest'>,
  tip: Oid,
): Promise<boolean> {
  const { store } = project.repository;
  if ((await store.resolve(tip)) === null) return false;
  const landed = await findNearestEntry(project, tip);
  return landed !== null && landed.entry.id >= nearest.entry.id && (await isOnLine(store, tip, oid));
}

/** The number of cached base branches. They are few, and their older tips are useless. */
const maxKnown = 8;

/** Searches a base branch fully once, and later only its new commits. */
async function readBase(project: SessionSource, oid: Oid): Promise<BaseHistory> {
  const { store, cache } = project.repository;
  const known = await readRows(cache, 'bases');
  const same = known.find(([base]) => base === oid);
  if (same !== undefined) return decodeRow(oid, same);
  let before: string[] | undefined;
  for (const row of known) if (await isBefore(project, row[0] ?? '', oid)) before = row;
  const not = before === undefined ? [] : [before[0] as Oid];
  const [entries, landings] = await Promise.all(
    ['Teddy-Entry-Id: ', landingText].map((text) => store.findReachable(text, oid, not)),
  );
  const row = [oid, ...(before?.slice(1) ?? []), ...(entries ?? [])];
  for (const commit of landings ?? [])
    for (const { session, tip } of decodeLandings((await store.readCommit(commit)).message))
      row.push(`${session}@${tip}`);
  await writeRows(cache, 'bases', [...known.filter((one) => one !== before), row].slice(-maxKnown));
  return decodeRow(oid, row);
}

async function isBefore({ repository: { store } }: SessionSource, base: string, oid: Oid): Promise<boolean> {
  return isOid(base) && (await store.resolve(base)) !== null && store.isAncestor(base, oid);
}

function decodeRow(oid: Oid, [, ...words]: readonly string[]): BaseHistory {
  const landings = new Map<SessionId, Oid[]>();
  for (const { session, tip } of words.flatMap((word) => decodeLandings(`${landingText}${word}`)))
    landings.set(session, [...(landings.get(session) ?? []), tip]);
  return { oid, entries: new Set(words.filter(isOid)), landings };
}
