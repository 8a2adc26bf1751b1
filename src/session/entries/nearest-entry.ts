/**
 * Finds a commit's nearest entry along its first parents. That entry never changes, so teddy caches the results of
 * walks by commit ID.
 */
import { isDamage } from '../../errors.ts';
import type { Cache, SessionSource } from '../../ports/git.ts';
import { readRows, writeRows } from './cached-rows.ts';
import { decodeEntry, type Entry } from './entry.ts';
import { isOid, type Oid, type RepoPath } from '../../names.ts';

export interface NearestEntry {
  oid: Oid;
  entry: Entry;
}

/** The maximum number of commits that one walk over many tips reads; a walk for the current or a named branch has no limit. */
const maxWalked = 200_000;
/** Also cache a result every this many commits, so that walks for branches that fork from older commits end early. */
const checkpointStep = 512;
/** A shorter walk costs no more than looking up its result. */
const shortWalk = 32;
/** The number of queries sent to git in one batch. */
const readAtOnce = 512;
const sessionsPath = '.teddy/sessions' as RepoPath;

/**
 * Returns null when there is no entry at or below the commit. If a commit's tree has no `.teddy/sessions`, the result
 * is null without a walk, unless the commit `mayLackFiles`: on a branch named like a line, somebody may have deleted
 * these files.
 */
export async function findNearestEntry(
  project: SessionSource,
  tip: Oid,
  { mayLackFiles = false }: { mayLackFiles?: boolean } = {},
): Promise<NearestEntry | null> {
  const { store, cache } = project.repository;
  const own = decodeEntry((await store.readCommit(tip)).message);
  if (own !== null) return { oid: tip, entry: own };
  if (!mayLackFiles && !(await store.hasPath(tip, sessionsPath))) return null;
  const rows = await openRows(cache);
  let walked = 0;
  let found: NearestEntry | null = null;
  for await (const { oid, commit } of store.firstParents(tip)) {
    const known = rows.get(oid);
    if (known !== undefined && known !== tooFar) {
      found = await readKnown(project, known);
      break;
    }
    const entry = decodeEntry(commit.message);
    if (entry !== null) found = { oid, entry };
    if (found !== null) break;
    walked += 1;
  }
  if (walked > shortWalk) await addRows(cache, [[tip, found?.oid ?? noEntry]]);
  return found;
}

/** Does the same as `findNearestEntry` for many tips, with one git process for all tips that are not cached. */
export async function findNearestEntries(
  project: SessionSource,
  tips: readonly Oid[],
): Promise<Map<Oid, NearestEntry | null>> {
  const { store, cache } = project.repository;
  const found = new Map<Oid, NearestEntry | null>();
  const all = [...new Set(tips)];
  for (let at = 0; at < all.length; at += readAtOnce) {
    const read = async (oid: Oid) => found.set(oid, await readOwn(project, oid));
    await Promise.all(all.slice(at, at + readAtOnce).map(read));
  }
  const below = all.filter((oid) => found.get(oid) === null);
  if (below.length === 0) return found;
  const rows = await openRows(cache);
  const known = below.filter((oid) => rows.has(oid));
  await Promise.all(known.map(async (oid) => found.set(oid, await readKnown(project, rows.get(oid) as Row))));
  const unknown = below.filter((oid) => !rows.has(oid));
  const held = await Promise.all(unknown.map((oid) => store.hasPath(oid, sessionsPath)));
  const { nearest, added, failed } = await walkAll(
    project,
    unknown.filter((_, at) => held[at]),
    rows,
  );
  for (const [oid, one] of nearest) found.set(oid, one);
  // When git stops at a missing object, walk each of these tips alone, until the walk ends or reports the damage.
  for (const oid of failed) found.set(oid, await findNearestEntry(project, oid));
  await addRows(cache, added);
  return found;
}

/** Returns the tip's own entry, if the tip is one. A remote's ref may point to something other than a commit. */
async function readOwn({ repository: { store } }: SessionSource, oid: Oid): Promise<NearestEntry | null> {
  try {
    const entry = decodeEntry((await store.readCommit(oid)).message);
    return entry && { oid, entry };
  } catch (error) {
    if (isDamage(error) && (await store.readSize(oid)) !== null) return null;
    throw error;
  }
}

/** Tips whose walks have met and continue as one. */
interface Group {
  /** The group that this group has joined. */
  into: Group | null;
  tips: Oid[];
  /** Undefined while the walk continues. */
  result: NearestEntry | null | undefined;
}

function leaderOf(group: Group): Group {
  let leader = group;
  while (leader.into !== null) leader = leader.into;
  return leader;
}

async function walkAll(
  project: SessionSource,
  tips: readonly Oid[],
  rows: ReadonlyMap<Oid, Row>,
): Promise<{ nearest: Map<Oid, NearestEntry | null>; added: [Oid, Row][]; failed: Oid[] }> {
  /** The next commit of each walk. */
  const waiting = new Map<Oid, Group>(tips.map((oid) => [oid, { into: null, tips: [oid], result: undefined }]));
  const groups = [...waiting.values()];
  const passed = new Map<Oid, Group>();
  const checkpoints: Oid[] = [];
  let open = groups.length;

  const settle = (group: Group, result: NearestEntry | null) => {
    group.result = result;
    open -= 1;
  };
  const join = (group: Group, other: Group) => {
    if (group === other) return;
    if (other.result !== undefined) return settle(group, other.result);
    group.into = other;
    open -= 1;
  };
  const step = async (oid: Oid, parent: Oid | null, message: string) => {
    const group = leaderOf(waiting.get(oid) as Group);
    waiting.delete(oid);
    passed.set(oid, group);
    if (passed.size % checkpointStep === 0) checkpoints.push(oid);
    const known = rows.get(oid);
    const entry = decodeEntry(message);
    if (entry !== null) return settle(group, { oid, entry });
    if (known !== undefined && known !== tooFar) return settle(group, await readKnown(project, known));
    if (parent === null) return settle(group, null);
    const met = passed.get(parent) ?? waiting.get(parent);
    if (met !== undefined) join(group, leaderOf(met));
    else waiting.set(parent, group);
  };

  if (open > 0) {
    try {
      for await (const { oid, parent, message } of project.repository.store.firstParentsOf(tips)) {
        // No walk needs this commit anymore.
        if (!waiting.has(oid)) continue;
        await step(oid, parent, message);
        if (open === 0 || passed.size >= maxWalked) break;
      }
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  const resultOf = (group: Group) => leaderOf(group).result;
  const toRow = (group: Group): Row => {
    const result = resultOf(group);
    return result === undefined ? tooFar : (result?.oid ?? noEntry);
  };
  const isWhole = passed.size < maxWalked;
  const failed = groups.filter((group) => resultOf(group) === undefined && isWhole);
  return {
    nearest: new Map(groups.flatMap((group) => group.tips.map((oid) => [oid, resultOf(group) ?? null]))),
    failed: failed.flatMap((group) => group.tips),
    added: [
      ...groups.flatMap((group) =>
        failed.includes(group) ? [] : group.tips.map((oid): [Oid, Row] => [oid, toRow(group)]),
      ),
      ...checkpoints.flatMap((oid): [Oid, Row][] => {
        const row = toRow(passed.get(oid) as Group);
        return row === tooFar ? [] : [[oid, row]];
      }),
    ],
  };
}

/** The nearest entry, `noEntry`, or `tooFar`. */
type Row = Oid | typeof noEntry | typeof tooFar;
const noEntry = '-';
/** A walk up to the limit found no entry. */
const tooFar = '?';
const cacheKey = 'nearest-entries';
/** The cache's limit; a row takes about a hundred bytes. */
const maxRows = 100_000;

async function readKnown(project: SessionSource, row: Row): Promise<NearestEntry | null> {
  if (row === noEntry || row === tooFar) return null;
  const entry = decodeEntry((await project.repository.store.readCommit(row)).message);
  return entry && { oid: row, entry };
}

/** Rows never become outdated, so read each cache only once. */
const opened = new WeakMap<Cache, Promise<Map<Oid, Row>>>();

function openRows(cache: Cache): Promise<Map<Oid, Row>> {
  const rows = opened.get(cache) ?? readKnownRows(cache);
  opened.set(cache, rows);
  return rows;
}

async function readKnownRows(cache: Cache): Promise<Map<Oid, Row>> {
  const rows = new Map<Oid, Row>();
  for (const [commit = '', row = ''] of await readRows(cache, cacheKey))
    if (isOid(commit) && (row === noEntry || row === tooFar || isOid(row))) rows.set(commit, row);
  return rows;
}

async function addRows(cache: Cache, added: readonly [Oid, Row][]): Promise<void> {
  if (added.length === 0) return;
  const rows = await openRows(cache);
  for (const [oid, row] of added) {
    // Keep the newest rows last.
    rows.delete(oid);
    rows.set(oid, row);
  }
  await writeRows(cache, cacheKey, [...rows].slice(-maxRows));
}
