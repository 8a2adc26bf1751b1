/** The steps of a line as commits: the session's entries, and the user's own commits between them. */
import type { Oid, SessionId } from '../../names.ts';
import type { Commit } from '../../ports/git.ts';
import { decodeEntry, type Entry } from './entry.ts';

/** A name and an address, as a commit has them: anybody can write them, and only a signature shows more. */
export interface CommitAuthor {
  name: string;
  email: string;
}

export interface LoggedEntry {
  commit: Oid;
  /** ISO 8601, when the commit was made. */
  at: string;
  /** Who made the commit; of a verdict, who gave it. */
  author: CommitAuthor;
  /** Null for a commit of the user's own between the entries. */
  entry: Entry | null;
  subject: string;
}

/** A commit of a line, decoded; the names in it are as git has them. */
export interface DecodedCommit extends Pick<LoggedEntry, 'commit' | 'entry' | 'subject'> {
  /** The commit's author: name, address, time. */
  ident: string;
  /** The commit's committer, in the same form. */
  committer: string;
}

export function toDecoded(
  commit: Oid,
  { author, committer, message }: Pick<Commit, 'author' | 'committer' | 'message'>,
): DecodedCommit {
  const end = message.indexOf('\n');
  const subject = end === -1 ? message : message.slice(0, end);
  return { commit, entry: decodeEntry(message), subject, ident: author, committer };
}

/** Says when and by whom a commit was made. */
export function toLogged({ commit, entry, subject, ident, committer }: DecodedCommit): LoggedEntry {
  const author = toAuthor(entry?.kind === 'approval' ? ident : committer);
  return { commit, at: parseIdent(committer).time, author, entry, subject };
}

export function isStartOf({ entry }: Pick<LoggedEntry, 'entry'>, session: SessionId): boolean {
  return entry?.kind === 'start' && entry.session === session;
}

export function toAuthor(ident: string): CommitAuthor {
  const { name, email } = parseIdent(ident);
  return { name, email };
}

/** Its address and its time are empty where it is none. */
export function parseIdent(ident: string): { name: string; email: string; time: string } {
  const [, name = ident, email = '', seconds] = /^(.*?) <([^>]*)> (\d{1,12}) [+-]\d{4}$/.exec(ident) ?? [];
  return { name, email, time: seconds === undefined ? '' : toIsoTime(Number(seconds)) };
}

/** Since 1970; 0 where it is none. */
export function identSeconds(ident: string): number {
  return Number(/ (\d+) [+-]\d{4}$/.exec(ident)?.[1] ?? 0);
}

/** Empty for what no calendar has: whoever wrote the commit may have said anything. */
function toIsoTime(seconds: number): string {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

/** When it was made, ISO 8601: the id is a UUID v7, which begins with the time. */
export function entryTime({ id, created }: Pick<Entry, 'id' | 'created'>): string {
  const ms = idMs(id);
  return ms === null ? created : new Date(ms).toISOString();
}

/** The same in milliseconds since 1970; NaN where nothing says it. */
export function entryMs({ id, created }: Pick<Entry, 'id' | 'created'>): number {
  return idMs(id) ?? Date.parse(created);
}

const maxMs = 2 ** 48 - 1;

/**
 * The id for the entry after `last`. Clocks are set back, and those of two machines differ: where the time in `id` is not later
 * than that of `last`, or is from before the session, the first later one takes its place.
 */
export function toLaterId(id: string, last: Pick<Entry, 'id' | 'created'>): string {
  const leastMs = Math.min(Math.max((idMs(last.id) ?? -1) + 1, Date.parse(last.created) || 0), maxMs);
  if ((idMs(id) ?? maxMs) >= leastMs) return id;
  const time = leastMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}${idTail(id)}`;
}

/** Whether `id` has the first time that is later than that of `last`, as where a clock is behind. */
export function isLaterId(id: string, last: Pick<Entry, 'id' | 'created'>): boolean {
  return toLaterId(`00000000-0000${idTail(id)}`, last) === id;
}

/** All of a UUID of version 7 but its time. */
export function idTail(id: string): string {
  return id.slice('00000000-0000'.length);
}

/** Null: it is no UUID of version 7, which begins with the time at which it was made. */
function idMs(id: string): number | null {
  const time = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id);
  return time === null ? null : Number.parseInt(`${time[1]}${time[2]}`, 16);
}
