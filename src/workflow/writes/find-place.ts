/** Finds the work tree and the line of a write session. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName, type SessionId } from '../../names.ts';
import { findHeadLine, lineName } from '../line/find.ts';
import { listMainLines } from '../line/list-main.ts';
import { newSession } from '../line/new-session.ts';
import { prepareLine } from '../line/prepare.ts';
import { refuseOperation } from '../line/refuse-operation.ts';
import { refuseRunsIn } from '../line/unfinished-run.ts';

export interface WritePlace {
  workspace: Workspace;
  /** Null when HEAD is on no line: the entry goes to the session named `writes`. */
  line: { ref: RefName; session: SessionId } | null;
}

/** Throws NO_WORK_TREE, NOT_ON_LINE, UNKNOWN_SESSION, OPERATION_IN_PROGRESS, RUN_INTERRUPTED. */
export async function findPlace(project: Project, selector: string | undefined): Promise<WritePlace> {
  if (selector === undefined && (await findHeadLine(project)) === null) return findPlainPlace(project);
  const { ref, session, workspace } = await prepareLine(project, selector);
  if (workspace) return { workspace, line: { ref, session } };
  throw new TeddyError(
    'NOT_ON_LINE',
    `${lineName({ ref })} is checked out nowhere, and the file has to be written somewhere.`,
    `Switch to it: \`git switch ${lineName({ ref })}\`.`,
  );
}

async function findPlainPlace(project: Project): Promise<WritePlace> {
  const { repository, notices } = project;
  const { workspace, store } = repository;
  if (!workspace) {
    throw new TeddyError('NO_WORK_TREE', 'A bare repository has no files to write.', 'Run it in a clone of it.');
  }
  await store.ident();
  for (const said of await workspace.repair()) notices.warn(said);
  await refuseOperation(workspace, (await workspace.head()).ref ?? ('HEAD' as RefName));
  await refuseRunsIn(project, workspace);
  await findNewestWrites(project);
  return { workspace, line: null };
}

/** Files that are written off every line go to one session, made once and used again. Throws LINE_CHECKED_OUT. */
export async function findWritesLine(project: Project): Promise<{ ref: RefName; session: SessionId }> {
  return (await findNewestWrites(project)) ?? newSession(project, { name: 'writes', switch: false });
}

/** Null when that session is still to be made. */
async function findNewestWrites(project: Project): Promise<{ ref: RefName; session: SessionId } | null> {
  const lines = await listMainLines(project);
  const isWrites = (session: SessionId) => /^\d{8}-writes(?:-\d+)?$/.test(session);
  const newest = lines.filter(({ session, remote }) => remote === null && isWrites(session)).at(-1);
  if (newest === undefined) return null;
  const holder = (await project.repository.workTrees()).find(({ ref }) => ref === newest.ref);
  if (holder === undefined) return newest;
  throw new TeddyError(
    'LINE_CHECKED_OUT',
    `${shortRef(newest.ref)}, where files go that belong to no session, is checked out in ${holder.root}.`,
    'Switch that work tree to another branch, or start a session here: `teddy session new <name>`.',
  );
}
