/** Where each of many sessions starts. */
import type { SessionSource } from '../../ports/git.ts';
import { isOid, parseLineRef, type Oid, type SessionId } from '../../names.ts';
import { readNamedRows, writeNamedRows } from '../entries/cached-rows.ts';
import { decodeEntry } from '../entries/entry.ts';

export interface SessionStart {
  /** The commit of its `start` entry. */
  oid: Oid;
  /** Null: HEAD was detached, or an earlier version has recorded another session's line. */
  branch: string | null;
  /** The name of the other agent whose session it is; null: teddy's own. */
  agent: string | null;
}

interface StartedLine {
  session: SessionId;
  oid: Oid;
  /** Each of its entries says so. */
  created: string;
}

/** No branch of git's can have this name. */
const noBranch = '-';
const cacheKey = 'session-starts';

/** A session's start never changes: it is looked for once. One whose history is cut off has none. */
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

/** Another session of the same name may be made on the day that one was deleted. */
function toKey({ session, created }: Omit<StartedLine, 'oid'>): string {
  return `${session}@${created.replaceAll(/\s/g, '')}`;
}
