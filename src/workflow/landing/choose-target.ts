/** Which branch a line's code is landed on. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { globalRef, shortRef, type Oid, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { readSession } from '../line/find.ts';
import { findOtherTargets } from '../../session/lines/landing.ts';
import { readBaseStart } from '../../session/lines/lines.ts';
import { requireOwnStart } from '../line/own-start.ts';
import { toLandCommand, type LandableLine, type LandRequest } from './landing.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { startsSession } from '../line/session-start.ts';

export interface LandingTarget {
  ref: RefName;
  /** Null: there is no such branch yet, as the session began before its first commit. */
  tip: Oid | null;
}

/**
 * `onto`, else the branch that the session started from. Throws UNKNOWN_BRANCH, USAGE for a branch that takes no code, NOT_APPROVED
 * where somebody else's session names another branch than the default one.
 */
export async function chooseTarget(project: Project, line: LandableLine, request: LandRequest): Promise<LandingTarget> {
  const { onto, isDryRun = false } = request;
  const started = await findStart(project, line.tip);
  const start = await readBaseStart(project, line.tip);
  const base = start?.branch ?? null;
  const name = onto?.replace(/^refs\/heads\//, '') ?? base;
  if (name === null) throw await toUnnamed(project, line, request);
  const ref = `refs/heads/${name}` as RefName;
  // By its whole name: what a commit or a person says is never read as a revision.
  const found = (await project.repository.store.listRefs('refs/heads/')).find((tip) => tip.ref === ref);
  if (found === undefined && (name !== base || started?.isFirst !== true))
    throw await toUnknown(project, name, line, { request, isBase: onto === undefined && started !== null });
  await refuseLine(project, line, { ref, tip: found?.oid ?? null }, base);
  if (onto === undefined && start !== null && !isDryRun)
    await requireOwnStart(project, line.name, start, toLandCommand(line.name, request, { onto: start.branch }));
  return { ref, tip: found?.oid ?? null };
}

async function refuseLine(
  project: Project,
  line: LandableLine,
  { ref, tip }: LandingTarget,
  base: string | null,
): Promise<void> {
  if (ref === globalRef) throw toUsage(`${shortRef(ref)} holds what all sessions share, and no code.`);
  if (ref === line.ref) throw toUsage(`${line.name} cannot be landed on itself.`);
  if (tip === null || shortRef(ref) === base) return;
  const session = await readSession(project, ref, tip);
  if (session !== null)
    throw toUsage(`${shortRef(ref)} is a line of ${session}: its code is changed by its own turns.`);
}

function toUsage(message: string): TeddyError {
  return new TeddyError('USAGE', message, 'Name a branch of the project with --onto: `git branch` lists them.');
}

async function toUnnamed(project: Project, line: LandableLine, request: LandRequest): Promise<TeddyError> {
  const message = `Nothing says which branch ${line.name} started from.`;
  return new TeddyError('UNKNOWN_BRANCH', message, await adviseBranch(project, line, null, request));
}

async function toUnknown(
  project: Project,
  name: string,
  line: LandableLine,
  { request, isBase }: { request: LandRequest; isBase: boolean },
): Promise<TeddyError> {
  return new TeddyError(
    'UNKNOWN_BRANCH',
    isBase
      ? `The branch ${JSON.stringify(name)}, from which ${line.name} started, is not here.`
      : `There is no local branch ${JSON.stringify(name)}.`,
    await adviseBranch(project, line, name, request),
  );
}

/** The command that makes the branch where a remote has it, else the one that lands on the default branch. */
async function adviseBranch(
  project: Project,
  line: LandableLine,
  name: string | null,
  request: LandRequest,
): Promise<string> {
  const { remote, branches } = await findOtherTargets(project, line, name);
  if (name !== null && remote !== null)
    return `A remote has it: \`git branch ${toShellWord(name)} ${toShellWord(remote)}\` makes it here. Then land again.`;
  const list = '`git branch` lists the branches that there are';
  if (branches.length === 0) return `${list}; name one with --onto.`;
  const ways = branches.map((onto) => `To land on ${onto}: \`${toLandCommand(line.name, request, { onto })}\`.`);
  return `${list}. ${ways.join(' ')}`;
}

/** Where a line's session started. */
interface SessionStart {
  /** The repository had no commit yet. */
  isFirst: boolean;
}

/** Null where the history is cut off before it. */
async function findStart({ repository: { store } }: Project, tip: Oid): Promise<SessionStart | null> {
  for await (const { commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry !== null && (await startsSession(store, entry, commit))) return { isFirst: commit.parents.length === 0 };
  }
  return null;
}
