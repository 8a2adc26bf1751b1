/** Every session, with how far its main line has come and which conversation branches it has. */
import { describeSessions, type DescribedSession } from '../../conversation/list-sessions.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, SessionId } from '../../names.ts';
import { listMainLines } from '../../session/main-lines.ts';
import { readStarts, type SessionStart } from '../../session/session-starts.ts';
import { findHeadLine } from '../line/find.ts';

/** Where the user stands on another line of the session, that is the one to tell of. */
export interface ListedSession extends DescribedSession {
  current: boolean;
}

/** Oldest first. `mine`: only those whose start was committed with the e-mail address of this repository's user. `archived`: those as well that are put away. */
export async function listSessions(
  project: Project,
  { archived = false, mine = false }: { archived?: boolean; mine?: boolean } = {},
): Promise<ListedSession[]> {
  const [all, head] = await Promise.all([listMainLines(project, { archived }), findHeadLine(project)]);
  const starts = await readStarts(project, all);
  const own = mine ? await findOwn(project, starts) : null;
  const lines = own === null ? all : all.filter(({ session }) => own.has(session));
  const isCurrent = (session: SessionId) => head?.session === session;
  const described = await describeSessions(project, lines, {
    starts,
    toShown: (line) =>
      head !== null && isCurrent(line.session) && head.tip !== null && head.ref !== line.ref
        ? { ...line, ref: head.ref, oid: head.tip as Oid, entry: null }
        : line,
  });
  return described.map((session) => ({ ...session, current: isCurrent(session.session) }));
}

/** Nobody makes a session the newest by writing a time to come. */
export function sortNewest(sessions: ListedSession[], now: Date): ListedSession[] {
  const latest = new Date(now.getTime() + 600_000).toISOString();
  const timeOf = ({ updated }: ListedSession) => (updated > latest ? '' : updated);
  return sessions.toReversed().toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : timeOf(a) > timeOf(b) ? -1 : 0));
}

async function findOwn(
  { repository: { store } }: Project,
  starts: Map<SessionId, SessionStart>,
): Promise<Set<SessionId>> {
  const toEmail = (ident: string) => /<(.*)>/.exec(ident)?.[1]?.toLowerCase();
  const email = toEmail((await store.ident()).author);
  const authors = await Promise.all(
    [...starts].map(async ([session, { oid }]) => ({ session, author: (await store.readCommit(oid)).author })),
  );
  return new Set(authors.flatMap(({ session, author }) => (toEmail(author) === email ? [session] : [])));
}
