/** Which branch a line's code is landed on. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports.ts';
import { globalRef, shortRef, type Oid, type RefName } from '../../session/names.ts';
import { findStart, type SessionStart } from './find-start.ts';
import { readSession } from '../find-line.ts';
import { readBaseStart } from '../line/list-lines.ts';
import { requireOwnStart } from './own-start.ts';
import type { LandableLine, LandRequest } from './land-session.ts';

export interface LandingTarget {
  ref: RefName;
  /** Null: there is no such branch yet, as the session began before its first commit. */
  tip: Oid | null;
}

/**
 * `onto`, else the branch that the session started from. Throws UNKNOWN_BRANCH, USAGE for a branch that takes no code, NOT_APPROVED
 * where somebody else's session names another branch than the default one.
 */
export async function chooseTarget(
  project: Project,
  line: LandableLine,
  { onto, isDryRun = false }: Pick<LandRequest, 'onto' | 'isDryRun'>,
): Promise<LandingTarget> {
  const started = await findStart(project, line.tip);
  const start = await readBaseStart(project, line.tip);
  const base = start?.branch ?? null;
  const name = onto?.replace(/^refs\/heads\//, '') ?? base;
  if (name === null) throw toUnnamed(line);
  const ref = `refs/heads/${name}` as RefName;
  // By its whole name: what a commit or a person says is never read as a revision.
  const found = (await project.repository.store.listRefs('refs/heads/')).find((tip) => tip.ref === ref);
  if (found === undefined && (name !== base || started?.isFirst !== true)) throw toUnknown(name, line, started, onto);
  await refuseLine(project, line, { ref, tip: found?.oid ?? null }, base);
  if (onto === undefined && start !== null && !isDryRun) await requireOwnStart(project, line.name, start);
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
  return new TeddyError('USAGE', message, 'Name a branch of the project: `teddy session land --onto <branch>`.');
}

function toUnnamed({ name }: LandableLine): TeddyError {
  return new TeddyError(
    'UNKNOWN_BRANCH',
    `Nothing says which branch ${name} started from.`,
    'Name one: `teddy session land --onto <branch>`.',
  );
}

function toUnknown(name: string, line: LandableLine, started: SessionStart | null, onto?: string): TeddyError {
  const isBase = onto === undefined && started !== null;
  return new TeddyError(
    'UNKNOWN_BRANCH',
    isBase
      ? `The branch ${JSON.stringify(name)}, from which ${line.name} started, is not here.`
      : `There is no local branch ${JSON.stringify(name)}.`,
    isBase
      ? 'Name another one: `teddy session land --onto <branch>`; `git switch <branch>` makes one that a remote has.'
      : '`git branch` lists the branches; `git switch <branch>` makes one that a remote has.',
  );
}
