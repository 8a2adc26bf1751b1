/** A line's entries, newest first. */
import type { Project } from '../../ports/project.ts';
import { toLogged, type LoggedEntry } from '../../session/entries/logged-entry.ts';
import type { SessionId } from '../../names.ts';
import { readSteps } from '../../view/view.ts';
import { findRecorded, warnOfCut } from '../line/find-recorded.ts';

export interface SessionLog {
  session: SessionId;
  line: string;
  entries: LoggedEntry[];
}

/** Lists the entries down to the session's `start` entry, or to the beginning of a range. `target` is as for `findRecorded`. */
export async function logSession(project: Project, target: string | undefined): Promise<SessionLog> {
  const line = await findRecorded(project, target);
  const read = await readSteps(project.repository.store, line);
  warnOfCut(project, read);
  return { session: line.session, line: line.name, entries: read.steps.map(toLogged).toReversed() };
}
