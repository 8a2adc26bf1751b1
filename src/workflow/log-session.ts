/** The entries of a line, newest first. */
import type { Project } from '../ports.ts';
import { decodeEntry, type Entry } from '../session/entry.ts';
import type { Oid, SessionId } from '../session/names.ts';
import { findLine, lineName } from './find-line.ts';

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

/** Ends with the `start` entry of the session. */
export async function logSession(project: Project, selector: string | undefined): Promise<SessionLog> {
  const line = await findLine(project, selector);
  const entries: LoggedEntry[] = [];
  const tip = line.tip ?? line.remoteTip;
  if (tip === null) return { session: line.session, line: lineName(line), entries };
  for await (const { oid, commit } of project.repository.store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    const { name, time } = parseIdent(commit.committer);
    entries.push({ commit: oid, time, author: name, entry, subject: commit.message.split('\n')[0] ?? '' });
    if (entry?.kind === 'start' && entry.session === line.session) break;
  }
  return { session: line.session, line: lineName(line), entries };
}

function parseIdent(ident: string): { name: string; time: string } {
  const match = /^(.*?) <[^>]*> (\d+) [+-]\d{4}$/.exec(ident);
  return { name: match?.[1] ?? ident, time: match ? new Date(Number(match[2]) * 1000).toISOString() : '' };
}
