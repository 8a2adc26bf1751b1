/** From which commit on a line's code is new to a branch: what landed there before counts as merged. */
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
import { takesBack } from '../../session/lines/line-paths.ts';
import { shortRef, type Oid, type TurnName } from '../../names.ts';
import type { LandingTarget } from './choose-target.ts';
import type { LandableLine } from './landing.ts';

export interface LandingBase {
  /** Null: the two have nothing in common. */
  oid: Oid | null;
  /** The branch has had code of this session before, landed or merged. */
  hasLanded: boolean;
  /** Commits of this session that are not on this line: those of another attempt. */
  others: Oid[];
  /** The newest commit that has landed an undo there of a turn that the line still has, if nothing of the line has landed since. */
  takenBack: Oid | null;
  /** The commit that has landed this line as it stands, if one has. */
  landedAs: Oid | null;
  lost: LostCode | null;
}

/**
 * The best common ancestor of the line and a merge of the branch with all that has landed there. Other sessions count too:
 * the line may stand on one of them. Throws UNKNOWN_COMMIT where this clone does not have what has landed.
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
  // Newest first: a turn that it has of its own comes after its undo, and the last undo decides.
  for await (const { commit } of store.firstParents(landing.tip, [line.tip])) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'undo') undone.set(entry.turn, undone.get(entry.turn) ?? takesBack(entry));
    else if (entry?.kind !== 'approval') undone.delete(entry?.turn ?? null);
  }
  return [...undone.values()].includes(true) ? landing.commit : null;
}

/** With an older base, what the line has taken back since would stay on the branch without a word. */
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
    `${shortRef(target.ref)} has landed ${missing.session} at ${missing.tip.slice(0, 10)}, and this clone does not have that commit.`,
    'Fetch the session from where it was landed: `teddy session pull`. Then land again.',
  );
}
