/** The message of a commit that brings a session's code to another branch. It is no entry, and never reads as one. */
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

/** Which line's code the commit brought, up to which of its commits. */
export interface LandedFrom {
  session: SessionId;
  tip: Oid;
}

/** The message of every landing holds this. */
export const landingText = 'Teddy-Landed-From: ';

/**
 * `text`: subject and body. A trailer of ours in it is made unreadable, and so is a line at which git takes a message to end; other
 * trailers at its end stay trailers. `landings`: the line's own first, then those of the sessions whose code comes along.
 * `assistedBy`: trailers that go before these, unless the text has them already.
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

/** All that a message tells of: a forge that squashes a branch again copies the messages of its commits. */
export function decodeLandings(message: string): LandedFrom[] {
  return [...message.matchAll(/^Teddy-Landed-From: (\S+)@([0-9a-f]{64}|[0-9a-f]{40})$/gm)].flatMap(
    ([, session = '', tip = '']) => (isSessionId(session) ? [{ session, tip: tip as Oid }] : []),
  );
}

/** A patch begins for git at `---`, and at its scissors it cuts a message off: trailers below either would be none. */
const mark = /^(?:teddy-[a-z-]+\s*:|---(?:\s|$)|\S+ -{24} >8 -{24}$)/i;

function indentMark(line: string): string {
  const text = line.trimEnd();
  return mark.test(text) ? `  ${text}` : text;
}

/** The branches on which a line can land whose session's own branch is gone. */
export interface OtherTargets {
  /** The branch of a remote by which it can be made here again, as git shortens it; null: none has it. */
  remote: string | null;
  /** The default branch, else those here that hold what the session began with; without `refs/heads/`. */
  branches: string[];
}

/** `name`: of the branch that is gone; null: none is known. */
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
  /** Its commit is of this session, and brings others along. */
  isFirst: boolean;
}

/** The newest first. Commits below the common ancestor are in both histories, and need no telling. */
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

/** Code of a line that a branch has had, and has no more. */
export interface LostCode {
  /** The commits that brought it, oldest first. */
  landed: Oid[];
  /** The words behind `git` that bring it again. */
  command: string;
  /** The branch has changed the same lines since. */
  isConflict: boolean;
}

/** Reverts, and whatever else took code away that had landed; null: the branch has all of it, or has developed it further. */
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

/** Whether the branch has a file as it was before the commit. */
async function isAsBefore(store: Store, parent: Oid, commit: Oid, branch: Oid): Promise<boolean> {
  for (const { path, before } of await store.diffTrees(parent, commit, { without: '.teddy' as RepoPath }))
    if ((await store.findOid(branch, path)) === before) return true;
  return false;
}

/** git does not merge a line twice: what reverted the merge has to be reverted. */
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

/** The most branches that are looked at to find one among them. */
const maxOwn = 16;

/** The branches here that are nothing of teddy's: one of them may stand in for a branch that is gone. */
export async function listOwnBranches(project: SessionSource, listed?: Tips): Promise<RefTip[]> {
  const refs = listed === undefined ? null : [...listed].map(([ref, oid]) => ({ ref, oid }));
  const named = (refs ?? (await project.repository.store.listRefs('refs/heads/'))).filter(
    ({ ref }) => ref.startsWith('refs/heads/') && ref !== globalRef && parseLineRef(ref) === null,
  );
  const some = named.slice(0, maxOwn);
  const nearest = await Promise.all(some.map(({ oid }) => findNearestEntry(project, oid)));
  return some.filter((_, at) => nearest[at] === null);
}
