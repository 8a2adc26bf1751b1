/** Finds the starts of many sessions. */
import type { SessionSource } from '../../ports/git.ts';
import { isOid, parseLineRef, type Oid, type SessionId } from '../../names.ts';
import { readNamedRows, writeNamedRows } from '../entries/cached-rows.ts';
import { decodeEntry } from '../entries/entry.ts';

export interface SessionStart {
  /** The commit of the session's `start` entry. */
  oid: Oid;
  /**
   * The branch from which the session started; null when HEAD was detached, or an earlier version recorded another
   * session's line.
   */
  branch: string | null;
  /** The name of the other agent that owns the session; null for teddy's own sessions. */
  agent: string | null;
}

interface StartedLine {
  session: SessionId;
  oid: Oid;
  /** When the session was created, according to each of its entries. */
  created: string;
}

/** A name that no git branch can have. */
const noBranch = '-';
const cacheKey = 'session-starts';

/** Finds each session's start, once, because a start never changes. A session with a cut-off history has none. */
export async function readStarts(
  project: SessionSource,
  lines: readonly StartedLine[],
): Promise<Map<SessionId, SessionStart>> {
  const { store, cache } = project.repository;
  let rows = await readNamedRows(cache, cacheKey, 'utf8');
  const unknown = lines.filter((line) => rows.get(toKey(line)) === undefined);
  const wanted = new Set(unknown.map(toKey));
  if (wanted.size > 0) {
    const known = rows.toMap();
    for await (const { oid, message } of store.firstParentsOf(unknown.map((line) => line.oid))) {
      const entry = message.includes('Teddy-Entry: start') ? decodeEntry(message) : null;
      if (entry?.kind !== 'start' || !wanted.delete(toKey(entry))) continue;
      const { baseBranch, foreign } = entry;
      const isLine = baseBranch === undefined || parseLineRef(`refs/heads/${baseBranch}`) !== null;
      const branch = isLine ? [] : [baseBranch];
      const captured = foreign === undefined ? branch : [branch[0] ?? noBranch, foreign.agent];
      known.set(toKey(entry), [oid, ...captured].join(' '));
      if (wanted.size === 0) break;
    }
    rows = await writeNamedRows(cache, cacheKey, known);
  }
  const starts = new Map<SessionId, SessionStart>();
  for (const line of lines) {
    const [oid = '', branch = noBranch, agent = null] = rows.get(toKey(line))?.split(' ') ?? [];
    if (isOid(oid)) starts.set(line.session, { oid, branch: branch === noBranch ? null : branch, agent });
  }
  return starts;
}

/** Includes the creation time, because a new session may reuse the name of one that was deleted on the same day. */
function toKey({ session, created }: Omit<StartedLine, 'oid'>): string {
  return `${session}@${created.replaceAll(/\s/g, '')}`;
}
