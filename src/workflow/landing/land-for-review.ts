/** Lands a line's code for a pull request: on a branch of its own that starts from the remote's base branch. */
import { TeddyError } from '../../errors.ts';
import type { TransferOptions } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isRefName, shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { readBaseBranch } from '../../session/lines/lines.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { withCodeRemote, type CodeRemote } from '../sharing/code-remote.ts';
import { findLandable, landSession, type Landed } from './land-session.ts';
import type { LandableLine, LandRequest } from './landing.ts';

export interface ReviewRequest extends LandRequest, TransferOptions {
  /** The branch for the pull request; by default `teddy-land/<session>`. `onto` names the base branch. */
  branch?: string | undefined;
}

export interface LandedForReview extends Pick<CodeRemote, 'remote' | 'url'> {
  /** Null when the branch already had all of the line's code, and only had to be pushed. */
  landed: Landed | null;
  session: SessionId;
  branch: string;
  /** The branch that the pull request asks to change, as the remote calls it. */
  base: string;
  /** The push of the session; null after a dry run. */
  shared: Awaited<ReturnType<CodeRemote['pushSession']>> | null;
}

/**
 * Lands the code on a branch that starts from the base branch's tip on the remote, and pushes the session and the
 * branch. No other local branch moves. While the pull request is open, landing again adds to its branch. Throws as
 * `landSession` and `withCodeRemote` do, and USAGE.
 */
export async function landForReview(project: Project, request: ReviewRequest): Promise<LandedForReview> {
  const { signal, onProgress, isDryRun = false } = request;
  const line = await findLandable(project, request.target);
  const base = request.onto ?? (await readBaseBranch(project, line.tip));
  if (base === null)
    throw new TeddyError(
      'UNKNOWN_BRANCH',
      `teddy does not know which branch ${line.name} started from.`,
      `Name the branch that the pull request changes: \`teddy land ${toShellWord(line.name)} --pr --onto <branch>\`.`,
    );
  return withCodeRemote(project, base, { signal, onProgress }, async (code) => {
    const place = await choosePlace(project, code, request.branch ?? `teddy-land/${line.session}`);
    const branch = shortRef(place.ref);
    const pullRequest = { branch: request.branch, base: request.onto };
    const landed = await land(project, line, { ...request, onto: branch, from: place.from, pullRequest }, place);
    const { remote, url } = code;
    const found = { landed, session: line.session, branch, base: shortRef(code.base.ref), remote, url };
    if (isDryRun) return { ...found, shared: null };
    try {
      const shared = await code.pushSession(line.session);
      await code.pushCode(place.ref, landed?.commit ?? place.current);
      return { ...found, shared };
    } catch (error) {
      project.notices.warn(`The code is on ${branch} here, and has not been pushed. The same command tries again.`);
      throw error;
    }
  });
}

interface Place {
  ref: RefName;
  /** The commit to land on. */
  from: Oid;
  /** The local branch's tip; null when there is no such branch. */
  current: Oid | null;
}

/**
 * Chooses the wanted branch, or the same name with `-2`, `-3`, ... when that branch has been merged in another form or
 * belongs to somebody else.
 */
async function choosePlace(project: Project, { remote, base, ...code }: CodeRemote, wanted: string): Promise<Place> {
  const { store } = project.repository;
  const here = new Map((await store.listRefs('refs/')).map(({ ref, oid }) => [ref, oid]));
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? wanted : `${wanted}-${count}`;
    const ref = `refs/heads/${name}` as RefName;
    if (!isRefName(ref)) throw toBadName(wanted);
    const current = here.get(ref) ?? null;
    const there = code.branches.get(ref) ?? null;
    const wasPushed = here.has(`refs/remotes/${remote.name}/${name}` as RefName);
    if (there !== null) await code.fetch(ref);
    const tips = [current, there].filter((tip) => tip !== null);
    const isMerged = (await Promise.all(tips.map((tip) => store.isAncestor(tip, base.tip)))).every((one) => one);
    if (isMerged) return { ref, from: base.tip, current };
    if (current === null) continue;
    if (there === null && !wasPushed) return { ref, from: current, current };
    if (there !== null && (await store.isAncestor(there, current))) return { ref, from: current, current };
    // Somebody added to the pull request's branch.
    if (there !== null && (await store.isAncestor(current, there))) return { ref, from: there, current };
  }
}

function toBadName(name: string): TeddyError {
  const message = `${JSON.stringify(name)} is not a name for a branch.`;
  return new TeddyError('USAGE', message, 'Use letters, digits, `-`, `_`, `.` and `/`, as in `--pr=add-login`.');
}

/** Returns null when the branch already has all of the line's code, as after a push that failed. */
async function land(
  project: Project,
  { name }: LandableLine,
  request: LandRequest,
  { current }: Place,
): Promise<Landed | null> {
  try {
    return await landSession(project, { ...request, target: name });
  } catch (error) {
    const isThere = error instanceof TeddyError && error.code === 'NOTHING_TO_LAND' && current === request.from;
    if (isThere && request.isDryRun !== true) return null;
    throw error;
  }
}
