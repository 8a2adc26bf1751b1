/** Lands a line's code for a pull request: on a branch of its own that starts from the remote's base branch. */
import { TeddyError } from '../../errors.ts';
import type { TransferOptions } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isRefName, landingBranch, shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { findLandings, mergeCommits } from '../../session/lines/landing.ts';
import { readBaseBranch } from '../../session/lines/lines.ts';
import { parseForge } from '../../session/masks/urls.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { findLine } from '../line/find.ts';
import { makeLocal } from '../line/own-start.ts';
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
  /** The push of the session; null after a dry run, and when the remote refused it. */
  shared: Awaited<ReturnType<CodeRemote['pushSession']>> | null;
  /** Why the session was not pushed. */
  refusal: TeddyError | null;
}

/**
 * Lands the code on a branch that starts from the base branch's tip on the remote, and pushes the session and the
 * branch. No other local branch moves. While the pull request is open, landing again adds to its branch. Throws as
 * `landSession` and `withCodeRemote` do, and USAGE.
 */
export async function landForReview(project: Project, request: ReviewRequest): Promise<LandedForReview> {
  const { signal, onProgress, isDryRun = false } = request;
  const line = await findOwnLine(project, request.target);
  const base = request.onto ?? (await readBaseBranch(project, line.tip));
  if (base === null)
    throw new TeddyError(
      'UNKNOWN_BRANCH',
      `teddy does not know which branch ${line.name} started from.`,
      `Name the branch that the pull request changes: \`teddy land ${toShellWord(line.name)} --pr --onto <branch>\`.`,
    );
  return withCodeRemote(project, base, { signal, onProgress }, async (code) => {
    const place = await chooseBranch(project, code, { session: line.session, branch: request.branch, local: base });
    const branch = shortRef(place.ref);
    const { remote, url } = code;
    const landing = {
      ...request,
      onto: branch,
      from: place.from,
      fromName: `${remote.label}/${shortRef(code.base.ref)}`,
      pullRequest: { branch: request.branch, base: request.onto },
    };
    const landed = await land(project, line, landing, place);
    const found = { landed, session: line.session, branch, base: shortRef(code.base.ref), remote, url };
    if (isDryRun) return { ...found, shared: null, refusal: null };
    // A session that the remote refuses, for example because of teddy/global, does not stop the code.
    const pushed = await code.pushSession(line.session).catch(toRefusal);
    try {
      await code.pushCode(place.ref, landed?.commit ?? place.from);
    } catch (error) {
      project.notices.warn(`The code is on ${branch} here, and has not been pushed. The same command tries again.`);
      throw error;
    }
    const refusal = pushed instanceof TeddyError ? pushed : null;
    return { ...found, shared: pushed instanceof TeddyError ? null : pushed, refusal };
  });
}

function toRefusal(error: unknown): TeddyError {
  if (error instanceof TeddyError && error.code !== 'INTERRUPTED') return error;
  throw error;
}

/** Finds the line, and makes a local branch of one that was only fetched, so that its turns stay here as well. */
async function findOwnLine(project: Project, target: string | undefined): Promise<LandableLine> {
  const line = await findLandable(project, target);
  if (!line.ref.startsWith('refs/remotes/')) return line;
  const known = await findLine(project, target ?? line.name, { appends: true });
  if (known.tip === null) await makeLocal(project, known);
  return findLandable(project, shortRef(known.ref));
}

/** The branch for the pull request. */
interface LandingBranch {
  ref: RefName;
  /** The commit to land on. */
  from: Oid;
  /** True when the branch has an earlier landing of the session that is not merged yet. */
  isOpen: boolean;
}

interface BranchChoice {
  session: SessionId;
  /** The branch that the user named. */
  branch: string | undefined;
  /** The local name of the base branch. */
  local: string;
}

/**
 * Chooses the user's branch, or `teddy-land/<session>`: one with a landing of the session that is not merged yet, or a
 * new one. The same name with `-2`, `-3`, ... when that branch was merged in another form, was rewritten, or has only
 * other code. Throws USAGE for a branch of the user's with other code.
 */
async function chooseBranch(
  project: Project,
  { remote, base, ...code }: CodeRemote,
  { session, branch, local }: BranchChoice,
): Promise<LandingBranch> {
  const { store } = project.repository;
  const here = new Map((await store.listRefs('refs/heads/')).map(({ ref, oid }) => [ref, oid]));
  const wanted = branch ?? landingBranch(session);
  const anotherName = 'Name another one with `--pr=<branch>`, or omit the name: `teddy land --pr`.';
  if (wanted === local || wanted === shortRef(base.ref))
    throw toUsage(`${wanted} is the branch that the pull request asks to change.`, anotherName);
  const isOurs = async (tip: Oid) => (await findLandings(store, tip, base.tip)).some((one) => one.session === session);
  // After a squash merge, the branch adds nothing.
  const isSquashed = async (tip: Oid) =>
    (await mergeCommits(store, base.tip, tip)) === (await store.readCommit(base.tip)).tree;
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? wanted : `${wanted}-${count}`;
    const ref = `refs/heads/${name}` as RefName;
    if (!isRefName(ref)) throw toUsage(`${JSON.stringify(wanted)} is not a name for a branch.`, anotherName);
    const current = here.get(ref) ?? null;
    const there = code.branches.get(ref) ?? null;
    if (there !== null) await code.fetch(ref);
    const tips = [current, there].filter((tip) => tip !== null);
    const place = { ref, from: base.tip, isOpen: false };
    if ((await Promise.all(tips.map((tip) => store.isAncestor(tip, base.tip)))).every((one) => one)) return place;
    // Somebody may have added to the pull request's branch.
    const tip = there === null || (current !== null && (await store.isAncestor(there, current))) ? current : there;
    const isAhead = tip !== null && (current === null || (await store.isAncestor(current, tip)));
    if (tip !== null && isAhead && (await isOurs(tip)) && !(await isSquashed(tip)))
      return { ...place, from: tip, isOpen: true };
    if (branch !== undefined)
      throw toUsage(
        `${JSON.stringify(name)}, here or on ${remote.label}, has code that is not from this session, or was merged or rewritten.`,
        anotherName,
      );
    project.notices.info(`${name} was merged, was rewritten, or has other code, so it stays as it is.`);
  }
}

function toUsage(message: string, hint: string): TeddyError {
  return new TeddyError('USAGE', message, hint);
}

/** Returns null when the branch already has all of the line's code, as after a push that failed. */
async function land(
  project: Project,
  { name }: LandableLine,
  request: LandRequest,
  { isOpen }: LandingBranch,
): Promise<Landed | null> {
  try {
    return await landSession(project, { ...request, target: name });
  } catch (error) {
    if (isOpen && error instanceof TeddyError && error.code === 'NOTHING_TO_LAND') return null;
    throw error;
  }
}

export interface PullRequest {
  /** The remote's URL; null when it is not known. */
  url: string | null;
  base: string;
  branch: string;
  title: string;
  session: string;
}

export interface WayToOpen {
  /** The forge's client. */
  program: 'gh' | 'glab';
  /** Opens the pull request, with the session's review as its text. */
  command: string;
  /** The page that asks for the title and the text. */
  address: string;
}

/** Returns null for a remote that is not on GitHub or GitLab. */
export function findWayToOpen({ url, base, branch, title, session }: PullRequest): WayToOpen | null {
  const place = url === null ? null : parseForge(url);
  if (place === null) return null;
  const { forge, host, path } = place;
  if (forge === 'github')
    return {
      program: 'gh',
      command: `teddy review ${session} | gh pr create --base ${toShellWord(base)} --head ${toShellWord(branch)} --title ${toShellWord(title)} --body-file -`,
      address: `https://${host}/${path}/compare/${toPath(base)}...${toPath(branch)}?expand=1`,
    };
  const query = new URLSearchParams({
    'merge_request[source_branch]': branch,
    'merge_request[target_branch]': base,
  });
  return {
    program: 'glab',
    command: `glab mr create --target-branch ${toShellWord(base)} --source-branch ${toShellWord(branch)} --title ${toShellWord(title)} --description "$(teddy review ${session})"`,
    address: `https://${host}/${path}/-/merge_requests/new?${query.toString()}`,
  };
}

function toPath(branch: string): string {
  return branch.split('/').map(encodeURIComponent).join('/');
}
