/** Archives sessions that have landed and that nobody has continued for a while. */
import { TeddyError } from '../../errors.ts';
import { describeSessions } from '../../view/view.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type SessionId } from '../../names.ts';
import { listLines, type KnownLine } from '../../session/lines/lines.ts';
import { toMainLines } from '../../session/lines/main-lines.ts';
import { entryMs } from '../../session/entries/logged-entry.ts';
import { repair } from '../line/repair.ts';
import {
  archiveBranches,
  isMergedSomewhere,
  listBranches,
  planLineArchive,
  refuseCheckedOut,
  settle,
  toBranches,
  type ArchivedSession,
  type SessionBranches,
} from './archive-session.ts';
import { groupBy } from '../../session/text/group-by.ts';

export interface ArchiveLandedRequest {
  /**
   * Keeps sessions whose last step is later than this, in milliseconds since 1970; null archives landed sessions of any
   * age.
   */
  beforeMs: number | null;
  /** True to change nothing, and only list the sessions that would be archived. */
  isDryRun: boolean;
  signal: AbortSignal;
}

export interface ArchivedLanded {
  /** Oldest first. */
  archived: ArchivedSession[];
  /** The landed sessions that were not archived, each with the error that occurred when archiving it alone. */
  refused: { session: SessionId; problem: TeddyError }[];
}

/**
 * Archives all of a session's branches or none, session by session. One of the branches must have landed in its present
 * state, and none may have a plan that was not run; the others count as rejected attempts. HEAD never moves in any work
 * tree. Throws INTERRUPTED; sessions archived before that stay archived.
 */
export async function archiveLanded(
  project: Project,
  { beforeMs, isDryRun, signal }: ArchiveLandedRequest,
): Promise<ArchivedLanded> {
  if (!isDryRun) await repair(project);
  const result: ArchivedLanded = { archived: [], refused: [] };
  const isOld = ({ nearest }: KnownLine) => beforeMs === null || entryMs(nearest.entry) < beforeMs;
  const old = (await groupLines(project)).filter(([, lines]) => lines.every(isOld));
  const mains = toMainLines(
    old.flatMap(([, lines]) => lines),
    project.clock.now(),
  );
  const described = await describeSessions(project, mains);
  const landed = new Set(described.filter(({ state }) => state === 'landed').map(({ session }) => session));
  for (const [session, lines] of old) {
    if (signal.aborted) throw interruptedError(result);
    if (!landed.has(session)) continue;
    try {
      const archived = await archiveOne(project, session, toBranches(lines), isDryRun);
      if (archived !== null) result.archived.push(archived);
    } catch (problem) {
      if (!(problem instanceof TeddyError) || problem.code === 'INTERRUPTED') throw problem;
      result.refused.push({ session, problem });
      if (ofRepository.has(problem.code)) break;
    }
  }
  return result;
}

/** Errors that would affect every other session as well. */
const ofRepository: ReadonlySet<string> = new Set(['WRITE_FAILED', 'DISK_FULL', 'GIT_FAILED', 'TOO_MANY_FILES']);

/** Lists the local lines by session, sorted by session ID. */
async function groupLines(project: Project): Promise<[SessionId, KnownLine[]][]> {
  const lines = (await listLines(project)).filter(({ remote }) => remote === null);
  return [...groupBy(lines, ({ session }) => session)].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Returns null when the session no longer exists. */
async function archiveOne(
  project: Project,
  session: SessionId,
  listed: SessionBranches,
  isDryRun: boolean,
): Promise<ArchivedSession | null> {
  const { branches } = listed;
  const here = await refuseCheckedOut(project, branches);
  if (here !== null)
    throw new TeddyError(
      'LINE_CHECKED_OUT',
      `${shortRef(here.line.ref)} is checked out here.`,
      `To leave it and archive it: \`teddy archive ${session}\`.`,
    );
  if (isDryRun) return previewArchive(project, session, listed);
  await settle(project, session, branches);
  const archived = await archiveBranches(project, session, listed);
  if (archived !== 'moved') return archived;
  // Somebody else has archived the session at the same time.
  if ((await listBranches(project, session)).branches.length === 0) return null;
  const hint = 'Somebody is working on the session. Run the command again.';
  throw new TeddyError('REF_MOVED', `The branches of ${session} have moved in the meantime.`, hint);
}

async function previewArchive(
  project: Project,
  session: SessionId,
  { branches, kept }: SessionBranches,
): Promise<ArchivedSession> {
  const lines: ArchivedSession['lines'] = [];
  for (const line of branches) {
    const { ref: archive } = await planLineArchive(project, line);
    lines.push({ line: line.ref, archive, tip: line.oid, hasLanded: await isMergedSomewhere(project, line) });
  }
  return { session, lines, kept, switchedTo: null, workTrees: [] };
}

function interruptedError({ archived }: ArchivedLanded): TeddyError {
  const count = archived.length === 1 ? '1 session is' : `${archived.length} sessions are`;
  return new TeddyError('INTERRUPTED', `Interrupted: ${count} archived.`, 'Run the command again for the others.');
}
