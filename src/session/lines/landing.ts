/**
 * The message of a commit that lands a session's code on another branch. This commit is not an entry, and its message
 * never parses as one.
 */
import { leaveOutKnown } from '../entries/assisted-by.ts';
import { endsInTrailers } from '../entries/trailers.ts';
import type { RefTip, SessionSource, Store } from '../../ports/git.ts';
import {
  globalRef,
  isOid,
  isSessionId,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type RepoPath,
  type SessionId,
} from '../../names.ts';
import { readBaseStart, readDefaultBranches, type Tips } from './lines.ts';
import { findNearestEntry } from '../entries/nearest-entry.ts';

/** The session, and the tip up to which the commit landed its code. */
export interface LandedFrom {
  session: SessionId;
  tip: Oid;
}

/** The text in every landing's message. */
export const landingText = 'Teddy-Landed-From: ';

/**
 * Encodes a landing's message. `text` is the subject and the body. Disarms teddy's own trailers in the text, and lines
 * at which git would cut the message; other trailers at the text's end stay trailers. `landings` lists the line itself
 * first, then the sessions that land along with it. `assistedBy` lists trailers that go before the landings, unless the
 * text already has them.
 */
export function encodeLanding(
  text: string,
  landings: readonly LandedFrom[],
  assistedBy: readonly string[] = [],
): string {
  const lines = text.replace(/\r\n?/g, '\n').replaceAll('\0', '').trim().split('\n').map(indentMark);
  const body = lines.join('\n').replaceAll(/\n{2,}/g, '\n\n');
  const from = landings.map(({ session, tip }) => `${landingText}${session}@${tip}`);
  const trailers = [...leaveOutKnown(body, assistedBy), ...from].map((trailer) => `${trailer}\n`);
  return `${body}${endsInTrailers(body) ? '\n' : '\n\n'}${trailers.join('')}`;
}

/**
 * Reads all landings in a message. There may be several, because a forge that squashes a branch copies the branch's
 * commit messages.
 */
export function decodeLandings(message: string): LandedFrom[] {
  return [...message.matchAll(/^Teddy-Landed-From: (\S+)@([0-9a-f]{64}|[0-9a-f]{40})$/gm)].flatMap(
    ([, session = '', tip = '']) => (isSessionId(session) ? [{ session, tip: tip as Oid }] : []),
  );
}

/**
 * Lines that need an indent. git begins a patch at `---` and cuts the message off at a scissors line, so trailers below
 * either line would be lost.
 */
const mark = /^(?:teddy-[a-z-]+\s*:|---(?:\s|$)|\S+ -{24} >8 -{24}$)/i;

function indentMark(line: string): string {
  const text = line.trimEnd();
  return mark.test(text) ? `  ${text}` : text;
}

/** The branches where a line can land when its session's own branch is gone. */
export interface OtherTargets {
  /**
   * The remote-tracking branch from which the user can recreate the branch, by its short name; null when no remote has
   * it.
   */
  remote: string | null;
  /**
   * The default branch, otherwise the local branches that contain the commit from which the session started; without
   * `refs/heads/`.
   */
  branches: string[];
}

/** Finds the other branches. `name` is the missing branch; null when it is unknown. */
export async function findOtherTargets(
  project: SessionSource,
  line: { ref: RefName; tip: Oid },
  name: string | null,
): Promise<OtherTargets> {
  const { store } = project.repository;
  const there = (await store.listRefs('refs/remotes/')).find(
    ({ ref }) => ref.replace(/^refs\/remotes\/[^/]+\//, '') === name,
  );
  const isOther = ({ ref }: RefTip) => ref.startsWith('refs/heads/') && ref !== line.ref && ref !== globalRef;
  const main = (await readDefaultBranches(project)).find(isOther);
  const own = main === undefined ? (await listOwnBranches(project)).filter(isOther) : [main];
  const start = (await readBaseStart(project, line.tip))?.oid;
  const before = start === undefined ? undefined : (await store.readCommit(start)).parents[0];
  const holds = await Promise.all(own.map(({ oid }) => before === undefined || store.isAncestor(before, oid)));
  const holding = main === undefined ? own.filter((_, at) => holds[at]) : own;
  const branches = (holding.length > 0 ? holding : own).slice(0, 3).map(({ ref }) => shortRef(ref));
  return { remote: there === undefined ? null : shortRef(there.ref), branches };
}

export interface FoundLanding extends LandedFrom {
  commit: Oid;
  /** True when this is the commit's own session, not one that landed along with it. */
  isFirst: boolean;
}

/** Finds landings, newest first. Skips commits below the common ancestor, because both histories contain them. */
export async function findLandings(
  store: Pick<Store, 'findReachable' | 'readCommit'>,
  from: Oid,
  merged: Oid | null,
): Promise<FoundLanding[]> {
  const found = await store.findReachable(landingText, from, merged === null ? [] : [merged]);
  const commits = await Promise.all(found.map((oid) => store.readCommit(oid)));
  const landings = commits.flatMap(({ message }, at) =>
    decodeLandings(message).map((landing, row) => ({ ...landing, commit: found[at] as Oid, isFirst: row === 0 })),
  );
  return [...new Map(landings.map((landing) => [landing.tip, landing])).values()];
}

/** A line's code that landed on a branch and is no longer on that branch. */
export interface LostCode {
  /** The commits that landed the code, oldest first. */
  landed: Oid[];
  /** The arguments of the `git` command that restores the code. */
  command: string;
  /** True when the branch has since changed the same lines. */
  isConflict: boolean;
}

/**
 * Finds landed code that a revert or anything else has removed. Returns null when the branch still has all of the code,
 * or has developed it further.
 */
export async function findLost(store: Store, { session, tip }: LandedFrom, branch: Oid): Promise<LostCode | null> {
  const merged = await store.mergeBase(tip, [branch]);
  if (merged === tip) return findRevertedMerge(store, tip, branch);
  const ours = (await store.readCommit(branch)).tree;
  let now = ours;
  const lost: LostCode = { landed: [], command: '', isConflict: false };
  for (const { commit, session: whose, tip: at } of (await findLandings(store, branch, merged)).toReversed()) {
    if (whose !== session || (await store.resolve(at)) === null || !(await store.isAncestor(at, tip))) continue;
    const { tree, parents } = await store.readCommit(commit);
    const [parent, other] = parents;
    if (parent === undefined || other !== undefined) continue;
    const again = await store.mergeTrees((await store.readCommit(parent)).tree, now, tree);
    if (again.tree === now || (again.tree === null && !(await isAsBefore(store, parent, commit, branch)))) continue;
    lost.landed.push(commit);
    lost.isConflict ||= again.tree === null;
    now = again.tree ?? now;
  }
  if (lost.landed.length === 0 || (now === ours && !lost.isConflict)) return null;
  return { ...lost, command: `cherry-pick ${lost.landed.map((oid) => oid.slice(0, 10)).join(' ')}` };
}

/** Returns true if the branch contains one of the commit's files in the state before the commit. */
async function isAsBefore(store: Store, parent: Oid, commit: Oid, branch: Oid): Promise<boolean> {
  for (const { path, before } of await store.diffTrees(parent, commit, { without: '.teddy' as RepoPath }))
    if ((await store.findOid(branch, path)) === before) return true;
  return false;
}

/** Finds the revert of a merge. git does not merge a line twice, so the user must revert the revert itself. */
async function findRevertedMerge(store: Store, tip: Oid, branch: Oid): Promise<LostCode | null> {
  const ours = (await store.readCommit(branch)).tree;
  for (const oid of await store.findReachable('This reverts commit ', branch, [tip])) {
    const { message, parents, tree } = await store.readCommit(oid);
    const merge = /This reverts commit ([0-9a-f]+)/.exec(message)?.[1] ?? '';
    const [parent] = parents;
    if (!isOid(merge) || parent === undefined || (await store.resolve(merge)) === null) continue;
    const before = (await store.readCommit(merge)).parents[0];
    if (!(await store.isAncestor(tip, merge)) || before === undefined || (await store.isAncestor(tip, before)))
      continue;
    const again = (await store.mergeTrees(tree, ours, (await store.readCommit(parent)).tree)).tree;
    if (again !== null && again !== ours)
      return { landed: [merge], command: `revert --no-edit ${oid.slice(0, 10)}`, isConflict: false };
  }
  return null;
}

/** The maximum number of branches to consider. */
const maxOwn = 16;

/** Lists the local branches that are not teddy's; one of them may replace a missing branch. */
export async function listOwnBranches(project: SessionSource, listed?: Tips): Promise<RefTip[]> {
  const refs = listed === undefined ? null : [...listed].map(([ref, oid]) => ({ ref, oid }));
  const named = (refs ?? (await project.repository.store.listRefs('refs/heads/'))).filter(
    ({ ref }) => ref.startsWith('refs/heads/') && ref !== globalRef && parseLineRef(ref) === null,
  );
  const some = named.slice(0, maxOwn);
  const nearest = await Promise.all(some.map(({ oid }) => findNearestEntry(project, oid)));
  return some.filter((_, at) => nearest[at] === null);
}

/** Returns the tree into which git merges commits, in this order; null when they conflict or share no ancestor. */
export async function mergeCommits(
  store: Pick<Store, 'mergeBase' | 'mergeTrees' | 'readCommit'>,
  one: Oid,
  ...others: readonly Oid[]
): Promise<Oid | null> {
  const treeOf = async (oid: Oid) => (await store.readCommit(oid)).tree;
  let ours: Oid | null = await treeOf(one);
  for (const [at, other] of others.entries()) {
    const base = await store.mergeBase(other, [one, ...others.slice(0, at)]);
    if (base === null || ours === null) return null;
    ours = (await store.mergeTrees(await treeOf(base), ours, await treeOf(other))).tree;
  }
  return ours;
}

/** Drops older tips: when lines build on each other, the newest line includes the others. */
export async function listNewestTips(
  store: Pick<Store, 'isAncestor'>,
  from: readonly Pick<LandedFrom, 'tip'>[],
): Promise<Oid[]> {
  const tips = [...new Set(from.map(({ tip }) => tip))];
  const isOlder = await Promise.all(
    tips.map(async (tip) => {
      for (const other of tips) if (other !== tip && (await store.isAncestor(tip, other))) return true;
      return false;
    }),
  );
  return tips.filter((_, at) => !isOlder[at]);
}
