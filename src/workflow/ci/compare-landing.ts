/** Compares the tree of a landing with what a merge of its sessions' code onto the commit before it gives. */
import type { Commit, Store } from '../../ports/git.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { editTree } from '../../session/edit-tree.ts';
import type { LandedFrom } from '../../session/landing.ts';
import { nameSome } from '../../session/name-some.ts';
import { findLandings } from '../landing/find-base.ts';
import { readSides, type LandingSides } from '../landing/sides.ts';
import type { CheckedLanding } from './ci.ts';

/**
 * `tips`: the newest commit of each line that the landing brings, all of them here. `earlier`: the tips of landings that the commit
 * before it has had of these lines; null for one that is not here.
 */
export interface LandingFacts {
  commit: Pick<Commit, 'tree' | 'parents'>;
  tips: readonly Oid[];
  earlier: readonly (Oid | null)[];
}

interface Merged {
  tree: Oid;
  /** Paths in conflict: they are as the landing has them. */
  solved: ReadonlySet<RepoPath>;
}

/** A landing counts as merged with the earlier landings that were known where it was made: some of them, or none. */
export async function compareLanding(
  store: Store,
  { commit, tips, earlier }: LandingFacts,
): Promise<Pick<CheckedLanding, 'faults' | 'unproven'>> {
  const known = earlier.filter((tip) => tip !== null);
  const merged = await mergeAll(store, commit, tips, known);
  const other = merged?.tree === commit.tree || known.length === 0 ? null : await mergeAll(store, commit, tips, []);
  const best = other?.tree === commit.tree ? other : merged;
  if (best === null) return { faults: [], unproven: ['git cannot merge its session with the commit before it'] };
  const paths = (await store.diffTrees(best.tree, commit.tree)).map(({ path }) => path);
  const solved = best.solved.size === 0 ? [] : [`a person has merged ${nameSome([...best.solved].toSorted())}`];
  if (paths.length > 0 && known.length < earlier.length)
    return { faults: [], unproven: [...solved, 'an earlier landing of its session is not here'] };
  const message = 'The landing has it as neither its session nor the commit before it gives.';
  return { faults: paths.map((path) => ({ path, message })), unproven: solved };
}

/** Null: git cannot merge them, whatever is done about the files in conflict. */
async function mergeAll(
  store: Store,
  { tree, parents }: LandingFacts['commit'],
  tips: readonly Oid[],
  landed: readonly Oid[],
): Promise<Merged | null> {
  const parent = parents[0] ?? null;
  const solved = new Set<RepoPath>();
  let ours: Oid | null = null;
  for (const [at, tip] of tips.entries()) {
    const others = [...(parent === null ? [] : [parent]), ...landed, ...tips.slice(0, at)];
    const base = others.length === 0 ? null : await store.mergeBase(tip, others);
    const sides = await readSides(store, { base, target: parent, tip });
    ours = await mergeSolved(store, { ...sides, ours: ours ?? sides.ours }, tree, solved);
    if (ours === null) return null;
  }
  return ours === null ? null : { tree: ours, solved };
}

/** Where both sides have changed the same lines, a person has decided, and the landing has what came of it. */
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

/** The same sides, with these files as `landing` has them on each, so that nothing is left to merge in them. */
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

/** The newest of lines that stand on each other holds the others. */
export async function listNewestTips(store: Store, from: readonly LandedFrom[]): Promise<Oid[]> {
  const tips = [...new Set(from.map(({ tip }) => tip))];
  const isOlder = await Promise.all(
    tips.map(async (tip) => {
      for (const other of tips) if (other !== tip && (await store.isAncestor(tip, other))) return true;
      return false;
    }),
  );
  return tips.filter((_, at) => !isOlder[at]);
}

/** Finds the earlier landings of the same lines, or of lines that these stand on. */
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
