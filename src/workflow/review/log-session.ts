/** The entries of a line, newest first. */
import type { Commit } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entry.ts';
import type { Oid, SessionId } from '../../names.ts';
import { findRecorded } from '../line/find-recorded.ts';

export interface LoggedEntry {
  commit: Oid;
  /** ISO 8601, when the commit was made. */
  time: string;
  author: string;
  /** Null for a commit of the user's own between the entries. */
  entry: Entry | null;
  subject: string;
}

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

export function toLogged(commit: Oid, { committer, message }: Commit): LoggedEntry {
  const { name: author, time } = parseIdent(committer);
  return { commit, time, author, entry: decodeEntry(message), subject: message.split('\n')[0] ?? '' };
}

export function isStartOf({ entry }: Pick<LoggedEntry, 'entry'>, session: SessionId): boolean {
  return entry?.kind === 'start' && entry.session === session;
}

export function parseIdent(ident: string): { name: string; time: string } {
  const match = /^(.*?) <[^>]*> (\d{1,12}) [+-]\d{4}$/.exec(ident);
  return { name: match?.[1] ?? ident, time: match ? toIsoTime(Number(match[2])) : '' };
}

/** Empty for what no calendar has: whoever wrote the commit may have said anything. */
function toIsoTime(seconds: number): string {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}
