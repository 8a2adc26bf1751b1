/** A line's steps as commits: the session's entries, and the user's own commits between them. */
import type { Oid, SessionId } from '../../names.ts';
import type { Commit } from '../../ports/git.ts';
import { decodeEntry, type Entry } from './entry.ts';

/** A name and an address from a commit. Anybody can use any name; only a signature proves it. */
export interface CommitAuthor {
  name: string;
  email: string;
}

export interface LoggedEntry {
  commit: Oid;
  /** When the commit was made, in ISO 8601. */
  at: string;
  /** The author of the commit or the verdict. */
  author: CommitAuthor;
  /** Null for one of the user's own commits between the entries. */
  entry: Entry | null;
  subject: string;
}

/** A decoded commit on a line, with names in git's form. */
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

/** Adds the time and author of a commit. */
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

/** Parses an ident. Address and time are empty when the text is not an ident. */
export function parseIdent(ident: string): { name: string; email: string; time: string } {
  const [, name = ident, email = '', seconds] = /^(.*?) <([^>]*)> (\d{1,12}) [+-]\d{4}$/.exec(ident) ?? [];
  return { name, email, time: seconds === undefined ? '' : toIsoTime(Number(seconds)) };
}

/** Returns the seconds since 1970; 0 when the text is not an ident. */
export function identSeconds(ident: string): number {
  return Number(/ (\d+) [+-]\d{4}$/.exec(ident)?.[1] ?? 0);
}

/** Returns an empty text for a time outside the calendar's range, because a commit may contain any number. */
function toIsoTime(seconds: number): string {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

/** Returns when the entry was made, in ISO 8601. The entry's ID is a UUID v7, which begins with the time. */
export function entryTime({ id, created }: Pick<Entry, 'id' | 'created'>): string {
  const ms = idMs(id);
  return ms === null ? created : new Date(ms).toISOString();
}

/** Returns when the entry was made, in milliseconds since 1970; NaN when unknown. */
export function entryMs({ id, created }: Pick<Entry, 'id' | 'created'>): number {
  return idMs(id) ?? Date.parse(created);
}

const maxMs = 2 ** 48 - 1;

/**
 * Returns the ID for the entry after `last`. Clocks can be set back, and clocks of two machines differ. If the time in
 * `id` is not later than the time in the ID of `last`, or precedes the session, the first later time replaces it.
 */
export function toLaterId(id: string, last: Pick<Entry, 'id' | 'created'>): string {
  const leastMs = Math.min(Math.max((idMs(last.id) ?? -1) + 1, Date.parse(last.created) || 0), maxMs);
  if ((idMs(id) ?? maxMs) >= leastMs) return id;
  const time = leastMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}${idTail(id)}`;
}

/** Returns true if the time in `id` is the earliest possible time after `last`, as happens when a clock is behind. */
export function isLaterId(id: string, last: Pick<Entry, 'id' | 'created'>): boolean {
  return toLaterId(`00000000-0000${idTail(id)}`, last) === id;
}

/** Returns a UUID v7 without its time. */
export function idTail(id: string): string {
  return id.slice('00000000-0000'.length);
}

/** Returns the time at the beginning of a UUID v7; null when the ID is not a UUID v7. */
function idMs(id: string): number | null {
  const time = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id);
  return time === null ? null : Number.parseInt(`${time[1]}${time[2]}`, 16);
}
