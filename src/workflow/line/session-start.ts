/** Where a session starts: a second `start` in the middle of a line hides nothing that comes before it. */
import type { Commit, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entry.ts';
import { isOid, parseLineRef, sessionDir, type Oid, type SessionId } from '../../names.ts';
import { readRows, writeRows } from './cached-rows.ts';
import { hasLandedAsItStands } from './find-open.ts';
import { findNearestEntry } from './nearest-entry.ts';

/** Whether the entry of this commit is a start, with nothing of its session before it. */
export async function startsSession(store: Store, entry: Entry | null, { parents }: Commit): Promise<boolean> {
  return entry?.kind === 'start' && !(await holdsSession(store, parents[0] ?? null, entry.session));
}

/** Null, or a commit that is not in this clone: no. */
export async function holdsSession(store: Store, commit: Oid | null, session: SessionId): Promise<boolean> {
  if (commit === null || (await store.readSize(commit)) === null) return false;
  return (await store.readDir(commit, sessionDir(session))) !== null;
}

export interface SessionStart {
  /** The commit of its `start` entry. */
  oid: Oid;
  /** Null: HEAD was detached, or an earlier version has recorded another session's line. */
  branch: string | null;
}

interface StartedLine {
  session: SessionId;
  oid: Oid;
  /** Each of its entries says so. */
  created: string;
}

/** A session's start never changes: it is looked for once. One whose history is cut off has none. */
export async function readStarts(
  project: Project,
  lines: readonly StartedLine[],
): Promise<Map<SessionId, SessionStart>> {
  const { store, cache } = project.repository;
  const known = new Map((await readRows(cache, 'session-starts')).map((row) => [row[0] ?? '', row]));
  const unknown = lines.filter((line) => !known.has(toKey(line)));
  const wanted = new Set(unknown.map(toKey));
  if (wanted.size > 0) {
    for await (const { oid, message } of store.firstParentsOf(unknown.map((line) => line.oid))) {
      const entry = message.includes('Teddy-Entry: start') ? decodeEntry(message) : null;
      if (entry?.kind !== 'start' || !wanted.delete(toKey(entry))) continue;
      const { baseBranch: branch } = entry;
      const isLine = branch === undefined || parseLineRef(`refs/heads/${branch}`) !== null;
      known.set(toKey(entry), [toKey(entry), oid, ...(isLine ? [] : [branch])]);
      if (wanted.size === 0) break;
    }
    await writeRows(cache, 'session-starts', [...known.values()]);
  }
  const starts = new Map<SessionId, SessionStart>();
  for (const line of lines) {
    const [, oid = '', branch = null] = known.get(toKey(line)) ?? [];
    if (isOid(oid)) starts.set(line.session, { oid, branch });
  }
  return starts;
}

/** Another session of the same name may be made on the day that one was deleted. */
function toKey({ session, created }: Omit<StartedLine, 'oid'>): string {
  return `${session}@${created.replaceAll(/\s/g, '')}`;
}

/** The session whose line a session was begun on top of, if that has not landed. `base`: the commit before the start. */
export async function findUnlandedBase(project: Project, session: SessionId, base: Oid): Promise<SessionId | null> {
  const nearest = await findNearestEntry(project, base);
  const other = nearest?.entry.session;
  if (nearest === null || other === undefined || other === session) return null;
  return (await hasLandedAsItStands(project, { oid: base, session: other, nearest })) ? null : other;
}
