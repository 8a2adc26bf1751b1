/**
 * Finds the commit after which a line's code is new to a branch; code that has already landed on the branch counts as
 * merged.
 */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import {
  findLandings,
  findLost,
  type FoundLanding,
  type LandedFrom,
  type LostCode,
} from '../../session/lines/landing.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { revertsTurn } from '../../session/lines/line-paths.ts';
import { shortRef, type Oid, type TurnName } from '../../names.ts';
import type { LandingTarget } from './choose-target.ts';
import type { LandableLine } from './landing.ts';

export interface LandingBase {
  /** Null when the two have no common ancestor. */
  oid: Oid | null;
  /** True when code from this session has landed on the branch before, or was merged into it. */
  hasLanded: boolean;
  /** This session's commits that are not on this line, but on another attempt. */
  others: Oid[];
  /**
   * The newest commit on the branch that landed an undo of a turn still on the line; null when anything from the line
   * has landed since.
   */
  takenBack: Oid | null;
  /** The commit that landed this line in its current state, if any. */
  landedAs: Oid | null;
  lost: LostCode | null;
}

/**
 * Returns the best common ancestor of the line and a merge of the branch with everything that has landed on it. Other
 * sessions count too, because they may be the line's base. Throws UNKNOWN_COMMIT when this clone lacks a landed commit.
 */
export async function findLandingBase(
  project: Project,
  line: LandableLine,
  target: LandingTarget,
): Promise<LandingBase> {
  const { store } = project.repository;
  if (target.tip === null)
    return { oid: null, hasLanded: false, others: [], takenBack: null, landedAs: null, lost: null };
  const merged = await store.mergeBase(line.tip, [target.tip]);
  const landings = await findLandings(store, target.tip, merged);
  const tips = await requireTips(project, line, target, landings);
  const own = landings.filter(({ session }) => session === line.session);
  const isOther = await Promise.all(own.map(async ({ tip }) => !(await store.isAncestor(tip, line.tip))));
  return {
    oid: tips.length === 0 ? merged : await store.mergeBase(line.tip, [target.tip, ...tips]),
    hasLanded: own.length > 0 || merged === line.tip,
    others: own.filter((_, at) => isOther[at]).map(({ tip }) => tip),
    takenBack: isOther[0] === true ? await findTakenBack(project, line, own[0]) : null,
    landedAs: landings.find(({ tip, isFirst }) => isFirst && tip === line.tip)?.commit ?? null,
    lost: own.length > 0 || merged === line.tip ? await findLost(store, line, target.tip) : null,
  };
}

async function findTakenBack(
  { repository: { store } }: Project,
  line: LandableLine,
  landing: FoundLanding | undefined,
): Promise<Oid | null> {
  if (landing === undefined) return null;
  const undone = new Map<TurnName | null, boolean>();
  // Walks newest first, so that a later turn on the line overrides its undo, and the last undo decides.
  for await (const { commit } of store.firstParents(landing.tip, [line.tip])) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'undo') undone.set(entry.turn, undone.get(entry.turn) ?? revertsTurn(entry));
    else if (entry?.kind !== 'approval') undone.delete(entry?.turn ?? null);
  }
  return [...undone.values()].includes(true) ? landing.commit : null;
}

/** With an older base, changes that the line has since reverted would silently remain on the branch. */
async function requireTips(
  { repository: { store } }: Project,
  line: LandableLine,
  target: LandingTarget,
  landings: LandedFrom[],
): Promise<Oid[]> {
  const known = await Promise.all(landings.map(({ tip }) => store.resolve(tip)));
  const missing = landings.find(({ session }, at) => session === line.session && known[at] === null);
  if (missing === undefined) return known.filter((oid) => oid !== null);
  throw new TeddyError(
    'UNKNOWN_COMMIT',
    `${missing.session} landed on ${shortRef(target.ref)} at ${missing.tip.slice(0, 10)}, a commit that this clone does not have.`,
    'Fetch the session from the remote it was landed from: `teddy pull`. Then land again.',
  );
}
