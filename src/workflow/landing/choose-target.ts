/** Chooses the branch that a line's code lands on. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { globalRef, isRefName, parseLineRef, shortRef, type Oid, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { readSession } from '../line/find.ts';
import { findOtherTargets } from '../../session/lines/landing.ts';
import { readBaseStart } from '../../session/lines/lines.ts';
import { requireOwnStart } from '../line/own-start.ts';
import { toLandCommand, type LandableLine, type LandRequest } from './landing.ts';
import { findSessionStart } from '../line/session-start.ts';

export interface LandingTarget {
  ref: RefName;
  /** The commit to land on; null when there is none yet, because the session began before its first commit. */
  tip: Oid | null;
  /** The branch's tip. Other than `tip` when the landing creates the branch, or first moves it forward to `tip`. */
  current: Oid | null;
  /** The name of `tip` for people: the branch, or the one that it starts from. */
  name: string;
}

/**
 * Chooses `onto`, or by default the session's base branch. Throws UNKNOWN_BRANCH, USAGE for a branch that cannot
 * receive code, and NOT_APPROVED when somebody else's session names a branch other than the default one.
 */
export async function chooseTarget(project: Project, line: LandableLine, request: LandRequest): Promise<LandingTarget> {
  const { onto, isDryRun = false } = request;
  const { store } = project.repository;
  const started = await findSessionStart(store, line.tip);
  const start = await readBaseStart(project, line.tip);
  const base = start?.branch ?? null;
  const name = onto?.replace(/^refs\/heads\//, '') ?? base;
  if (name === null) throw await toUnknown(project, null, line, { request, isBase: false });
  const ref = `refs/heads/${name}` as RefName;
  // Looks up the branch by its full name, so that git can never read the name as a revision.
  const found = (await store.listRefs('refs/heads/')).find((tip) => tip.ref === ref);
  const current = found?.oid ?? null;
  await refuseLine(project, line, { ref, tip: current }, base);
  const { from } = request;
  if (from !== undefined && (current === null || (await store.isAncestor(current, from))))
    return { ref, tip: from, current, name: from === current ? name : (request.fromName ?? name) };
  if (current === null && (name !== base || started?.parents.length !== 0)) {
    const agreed = onto === undefined || base === null ? null : await askToCreate(project, name, base, request);
    if (agreed !== null) return { ref, tip: agreed, current, name: base ?? name };
    throw await toUnknown(project, name, line, { request, isBase: onto === undefined && started !== null });
  }
  if (onto === undefined && start !== null && !isDryRun)
    await requireOwnStart(project, line.name, start, toLandCommand(line.name, request, { onto: start.branch }));
  return { ref, tip: current, current, name };
}

/**
 * Asks a user who stands on a new branch of their own, with no commits yet, whether to land there. Returns its name;
 * null when there is no such branch, no terminal, or the answer is no.
 */
export async function askForFreshBranch(project: Project, line: LandableLine): Promise<string | null> {
  const { store, workspace } = project.repository;
  const { confirm } = project.notices;
  const head = (await workspace?.head()) ?? null;
  const base = (await readBaseStart(project, line.tip))?.branch;
  if (confirm === undefined || head === null || head.ref === null || head.oid === null || base === undefined)
    return null;
  if ([line.ref, globalRef, `refs/heads/${base}`].includes(head.ref)) return null;
  const tip = await store.resolve(`refs/heads/${base}`);
  if (tip === null || !(await store.isAncestor(head.oid, tip))) return null;
  if ((await readSession(project, head.ref, head.oid)) !== null) return null;
  const name = shortRef(head.ref);
  return (await confirm(`You are on the new branch ${name}. Land there, and not on ${base}?`)) ? name : null;
}

/** Returns the base branch's tip when the user agrees to create the branch there. Asks once for a request. */
async function askToCreate(project: Project, name: string, base: string, request: LandRequest): Promise<Oid | null> {
  const { confirm } = project.notices;
  const { store } = project.repository;
  const tip = await store.resolve(`refs/heads/${base}`);
  if (tip === null || confirm === undefined || !isRefName(`refs/heads/${name}`)) return null;
  if (!(await confirm(`There is no branch ${JSON.stringify(name)}. Create it from ${base}?`))) return null;
  request.from = tip;
  return tip;
}

async function refuseLine(
  project: Project,
  line: LandableLine,
  { ref, tip }: Pick<LandingTarget, 'ref' | 'tip'>,
  base: string | null,
): Promise<void> {
  if (ref === globalRef) throw toUsage(`${shortRef(ref)} contains what all sessions share, not code.`);
  if (ref === line.ref) throw toUsage(`${line.name} cannot be landed on itself.`);
  if (shortRef(ref) === base) return;
  if (tip === null && parseLineRef(ref) !== null) throw toUsage(`${shortRef(ref)} is a name for a session's branch.`);
  if (tip === null) return;
  const session = await readSession(project, ref, tip);
  if (session !== null)
    throw toUsage(`${shortRef(ref)} is a branch of ${session}, and only its own turns change its code.`);
}

function toUsage(message: string): TeddyError {
  return new TeddyError('USAGE', message, 'Name a branch in the project with --onto: `git branch` lists them.');
}

/** A null name means that the line does not name its base branch. */
async function toUnknown(
  project: Project,
  name: string | null,
  line: LandableLine,
  { request, isBase }: { request: LandRequest; isBase: boolean },
): Promise<TeddyError> {
  const message =
    name === null
      ? `teddy does not know which branch ${line.name} started from.`
      : isBase
        ? `The branch ${JSON.stringify(name)}, which ${line.name} started from, does not exist here.`
        : `There is no local branch ${JSON.stringify(name)}.`;
  const { remote, branches } = await findOtherTargets(project, line, name);
  const others = branches.map((onto) => `To land on ${onto}: \`${toLandCommand(line.name, request, { onto })}\`.`);
  const list = '`git branch` lists the branches';
  const usual = others.length === 0 ? `${list}; name one with --onto.` : `${list}. ${others.join(' ')}`;
  const toCreating = (from: string) =>
    `\`git branch ${toShellWord(name ?? '')} ${toShellWord(from)}\`, then land again.`;
  if (name !== null && remote !== null)
    return new TeddyError('UNKNOWN_BRANCH', message, `A remote has it: create it with ${toCreating(remote)}`);
  const base = name === null || isBase ? undefined : (await readBaseStart(project, line.tip))?.branch;
  const isHere = base !== undefined && (await project.repository.store.resolve(`refs/heads/${base}`)) !== null;
  const creating = isHere && isRefName(`refs/heads/${name}`) ? `To create it: ${toCreating(base)} ` : '';
  return new TeddyError('UNKNOWN_BRANCH', message, creating + usual);
}
