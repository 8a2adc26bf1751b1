/** The entries of a line, newest first. */
import type { Project } from '../../ports/project.ts';
import { isStartOf, toLogged, type LoggedEntry } from '../../session/logged-entry.ts';
import type { SessionId } from '../../names.ts';
import { findRecorded } from '../line/find-recorded.ts';

export interface SessionLog {
  session: SessionId;
  line: string;
  entries: LoggedEntry[];
}

/** Ends with the `start` entry of the session, or where a range begins. `target`: as of `findRecorded`. */
export async function logSession(project: Project, target: string | undefined): Promise<SessionLog> {
  const line = await findRecorded(project, target);
  const { session, name, tip, after } = line;
  const entries: LoggedEntry[] = [];
  for await (const { oid, commit } of project.repository.store.firstParents(tip, after === null ? [] : [after])) {
    const logged = toLogged(oid, commit);
    entries.push(logged);
    if (isStartOf(logged, session)) break;
  }
  return { session, line: name, entries };
}
