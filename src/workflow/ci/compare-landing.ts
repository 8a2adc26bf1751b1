/** Compares a landing's tree with the result of merging its sessions' code into the preceding commit. */
import type { Commit, Store } from '../../ports/git.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { editTree } from '../../session/paths/edit-tree.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { codeKinds } from '../../session/lines/line-order.ts';
import { findLandings, type LandedFrom } from '../../session/lines/landing.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { findSessionStart } from '../line/session-start.ts';
import { readSides, type LandingSides } from '../landing/landing.ts';
import type { CheckedLanding } from './ci.ts';

/**
 * `tips` are the newest commits on the lines that the landing contains, all of them here. `earlier` are the tips from
 * these lines' earlier landings that the preceding commit already contains; null for a tip that is not here.
 */
export interface LandingFacts {
  commit: Pick<Commit, 'tree' | 'parents'>;
  tips: readonly Oid[];
  earlier: readonly (Oid | null)[];
}

interface Merged {
  tree: Oid;
  /** Paths in conflict, taken from the landing. */
  solved: ReadonlySet<RepoPath>;
}

/**
 * Finds the commit after which a line's code is new. `done` contains tips that the landing also contains and that are
 * already merged.
 */
type FindBase = (tip: Oid, done: readonly Oid[]) => Promise<Oid | null>;

/**
 * Lists the possible merge bases of a landing: the earlier landings known where it was made, perhaps none, or the
 * session's start, as when the user picked the landing for a release branch.
 */
function listBases(store: Store, { commit, earlier }: LandingFacts): FindBase[] {
  const [parent] = commit.parents;
  const known = earlier.filter((tip) => tip !== null);
  const mergeBase = (tip: Oid, others: readonly Oid[]) =>
    parent === undefined && others.length === 0
      ? Promise.resolve(null)
      : store.mergeBase(tip, [...(parent === undefined ? [] : [parent]), ...others]);
  return [
    (tip, done) => mergeBase(tip, [...known, ...done]),
    (tip, done) => mergeBase(tip, done),
    async (tip) => (await findSessionStart(store, tip))?.parents[0] ?? null,
  ];
}

/**
 * A landing of only the newest turns, as when the user picked it without the earlier ones, begins after one of these
 * entries.
 */
const maxBases = 40;

async function listLaterBases(store: Store, [tip]: readonly Oid[]): Promise<FindBase[]> {
  const bases: FindBase[] = [];
  for await (const { oid, commit } of store.firstParents(tip as Oid)) {
    const kind = decodeEntry(commit.message)?.kind;
    if (oid !== tip && kind !== undefined && codeKinds.includes(kind)) bases.push(() => Promise.resolve(oid));
    if (kind === 'start' || bases.length === maxBases) break;
  }
  return bases;
}

export async function compareLanding(
  store: Store,
  facts: LandingFacts,
): Promise<Pick<CheckedLanding, 'faults' | 'unproven'>> {
  const { commit, earlier } = facts;
  const best = await findMerge(store, facts);
  if (best === null) return { faults: [], unproven: ['git cannot merge its session with the commit before it'] };
  const paths = (await store.diffTrees(best.tree, commit.tree)).map(({ path }) => path);
  const solved = best.solved.size === 0 ? [] : [`a person has merged ${nameSome([...best.solved].toSorted())}`];
  if (paths.length > 0 && earlier.includes(null))
    return { faults: [], unproven: [...solved, 'an earlier landing of its session is not in this repository'] };
  const faults = await Promise.all(paths.map((path) => describeFault(store, facts, path)));
  return { faults, unproven: solved };
}

/** Returns the merge that produces the landing, otherwise the most usual merge. */
async function findMerge(store: Store, facts: LandingFacts): Promise<Merged | null> {
  const tries: (Merged | null)[] = [];
  const isFound = async (bases: readonly FindBase[]) => {
    for (const findBase of bases) {
      tries.push(await mergeAll(store, facts, findBase));
      if (tries.at(-1)?.tree === facts.commit.tree) return true;
    }
    return false;
  };
  const found = (await isFound(listBases(store, facts))) || (await isFound(await listLaterBases(store, facts.tips)));
  return found ? (tries.at(-1) ?? null) : (tries.find((merged) => merged !== null) ?? null);
}

async function describeFault(
  store: Store,
  { commit: { tree, parents } }: LandingFacts,
  path: RepoPath,
): Promise<CheckedLanding['faults'][number]> {
  const before = parents[0] === undefined ? null : await store.findOid(parents[0], path);
  const isLeftOut = (await store.findOid(tree, path)) === before;
  const message = isLeftOut
    ? 'The landing leaves out the changes that its session made to it.'
    : 'The content in the landing comes neither from its session nor from the commit before the landing.';
  return { path, message };
}

/** Returns null when git cannot merge them even with the conflicting files taken from the landing. */
async function mergeAll(
  store: Store,
  { commit: { tree, parents }, tips }: LandingFacts,
  findBase: FindBase,
): Promise<Merged | null> {
  const solved = new Set<RepoPath>();
  let ours: Oid | null = null;
  for (const [at, tip] of tips.entries()) {
    const base = await findBase(tip, tips.slice(0, at));
    const sides = await readSides(store, { base, target: parents[0] ?? null, tip });
    ours = await mergeSolved(store, { ...sides, ours: ours ?? sides.ours }, tree, solved);
    if (ours === null) return null;
  }
  return ours === null ? null : { tree: ours, solved };
}

/**
 * Merges the sides. When both have changed the same lines, a person has resolved the conflict, and the landing contains
 * that person's result.
 */
async function mergeSolved(
  store: Store,
  sides: LandingSides,
  landing: Oid,
  solved: Set<RepoPath>,
): Promise<Oid | null> {
  for (let now = sides; ;) {
    const { tree, conflicts } = await store.mergeTrees(now.base, now.ours, now.theirs);
    if (tree !== null) return tree;
    const known = solved.size;
    for (const path of conflicts) solved.add(path);
    if (solved.size === known) return null;
    now = await takeFrom(store, sides, landing, solved);
  }
}

/** Returns the sides with `landing`'s version of these files on each, so that these files need no merge. */
async function takeFrom(
  store: Store,
  { base, ours, theirs }: LandingSides,
  landing: Oid,
  paths: ReadonlySet<RepoPath>,
): Promise<LandingSides> {
  const files = new Map((await store.listTree(landing)).map((file) => [file.path, file]));
  const edits = [...paths].map((path) => ({ path, entry: files.get(path) ?? null }));
  const batch = store.batch();
  const [newBase, newOurs, newTheirs] = [
    await editTree(store, batch, base, edits),
    await editTree(store, batch, ours, edits),
    await editTree(store, batch, theirs, edits),
  ];
  await batch.flush();
  return { base: newBase, ours: newOurs, theirs: newTheirs };
}

/** Finds the earlier landings of the same lines, or of lines below them. */
export async function findEarlier(
  store: Store,
  { parents: [parent] }: Pick<Commit, 'parents'>,
  tips: readonly Oid[],
): Promise<LandedFrom[]> {
  if (parent === undefined) return [];
  const found = await Promise.all(
    tips.map(async (tip) => findLandings(store, parent, await store.mergeBase(tip, [parent]))),
  );
  return found.flat();
}
