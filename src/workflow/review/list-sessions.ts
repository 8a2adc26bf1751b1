/** Lists the sessions, with the progress of their main lines and conversation branches. */
import { findCommitted } from '../line/find-committed.ts';
import { findNotedLines } from '../line/noted-landings.ts';
import { describeSessions, type DescribedSession } from '../../view/view.ts';
import type { Project } from '../../ports/project.ts';
import { parseLineRef, shortRef, type RefName, type SessionId } from '../../names.ts';
import { listLinesAndTips } from '../../session/lines/lines.ts';
import { skewMs, toMainLines, type MainLine } from '../../session/lines/main-lines.ts';
import { entryMs } from '../../session/entries/logged-entry.ts';
import { readStarts, type SessionStart } from '../../session/lines/session-starts.ts';

/** A session in the list. When the user is on another line of the session, the entry describes that line. */
export interface ListedSession extends DescribedSession {
  current: boolean;
}

interface ListOptions {
  /** True to include archived sessions. */
  archived?: boolean;
  /** True to list only sessions whose start has the e-mail address of this repository's user as its committer. */
  mine?: boolean;
}

/** Lists the sessions, oldest first. */
export async function listSessions(project: Project, options: ListOptions = {}): Promise<ListedSession[]> {
  return (await listNewest(project, Number.POSITIVE_INFINITY, options)).sessions;
}

/**
 * Lists the sessions with the newest steps and the one that HEAD is on, oldest first, each with its line, and counts
 * all sessions. Reads only the index for the others.
 */
export async function listNewest(
  project: Project,
  limit: number,
  { archived = false, mine = false }: ListOptions = {},
): Promise<{ sessions: ListedSession[]; lines: MainLine[]; count: number }> {
  const now = project.clock.now();
  const head = await project.repository.workspace?.head();
  const newest = { limit, latestMs: now.getTime() + skewMs, head: head?.ref ?? null };
  const isCut = !mine && Number.isFinite(limit);
  const {
    lines: listed,
    tips: branches,
    older,
  } = await listLinesAndTips(project, { archived, ...(isCut && { newest }) });
  const tips = head?.oid == null ? branches : new Map([...branches, ['HEAD' as RefName, head.oid]]);
  const found = toMainLines(listed, now);
  // The line of the branch that HEAD is on; a detached HEAD is not on a line.
  const here = listed.find(({ ref }) => ref === head?.ref);
  const own = mine ? await findOwn(project, await readStarts(project, found)) : null;
  const all = own === null ? found : found.filter(({ session }) => own.has(session));
  const isCurrent = (session: SessionId) => here?.session === session;
  const lines = limit < all.length ? takeNewest(all, limit, now, isCurrent) : all;
  const shown = lines.map((line) =>
    here !== undefined && isCurrent(line.session) && here.ref !== line.ref ? { ...line, ...here, entry: null } : line,
  );
  const described = await describeSessions(project, shown, {
    tips,
    findCommitted: (starts) => findCommitted(project, shown, starts, tips),
    findNoted: (open, starts) => findNotedLines(project.repository, open, starts, tips),
  });
  const sessions = described.map((session) => ({ ...session, current: isCurrent(session.session) }));
  return { sessions, lines: shown, count: all.length + older };
}

/** Another work tree that has one of a session's branches checked out. */
export interface SessionWorkTree {
  path: string;
  branch: string;
}

export async function findWorkTreesOf(
  { repository }: Project,
  sessions: readonly ListedSession[],
): Promise<ReadonlyMap<SessionId, SessionWorkTree[]>> {
  const trees = (await repository.workTrees()).flatMap(({ ref, root }) =>
    ref === null || root === repository.workspace?.root ? [] : [{ path: root, branch: shortRef(ref) }],
  );
  // The row may describe a line other than the main line, and the main line may have another name.
  const isOf = ({ session, line: branch, conversationBranches }: ListedSession, name: string) =>
    parseLineRef(`refs/heads/${name}` as RefName)?.session === session ||
    [branch, ...conversationBranches].includes(name);
  return new Map(sessions.map((one) => [one.session, trees.filter(({ branch }) => isOf(one, branch))]));
}

function takeNewest(
  lines: readonly MainLine[],
  limit: number,
  now: Date,
  isCurrent: (session: SessionId) => boolean,
): MainLine[] {
  const taken = new Set(sortByTime(lines, now, ({ nearest }) => entryMs(nearest.entry)).slice(0, limit));
  return lines.filter((line) => taken.has(line) || isCurrent(line.session));
}

export function sortNewest(sessions: ListedSession[], now: Date): ListedSession[] {
  return sortByTime(sessions, now, ({ updated }) => Date.parse(updated));
}

/** Sorts newest first. A date in the future must not make a session the newest. */
function sortByTime<One>(all: readonly One[], now: Date, msOf: (one: One) => number): One[] {
  const latest = now.getTime() + skewMs;
  const times = new Map(all.map((one) => [one, msOf(one)]));
  const timeOf = (one: One) => {
    const ms = times.get(one) ?? Number.NaN;
    return ms <= latest ? ms : 0;
  };
  return all.toReversed().toSorted((a, b) => timeOf(b) - timeOf(a));
}

/** Names a session's state, in the words of `teddy list` and of the page of all sessions. */
export function describeState(session: ListedSession): string {
  const { state, archived, remotes, awaitsVerdict, committed, byNote } = session;
  if (state === 'pending') return 'pending plan';
  if (committed !== null) return `committed as ${committed.slice(0, 7)}`;
  if (byNote !== null) return 'landed, by note';
  if ((state === 'open' || state === 'closed') && awaitsVerdict) return 'plan awaits verdict';
  return archived || remotes.length === 0 ? nameEnd(session) : `only on ${remotes.join(', ')}`;
}

/** Uses the same words as the report and `teddy status`: a plan that somebody refused has not failed. */
export function nameEnd({ state, last }: Pick<ListedSession, 'state' | 'last'>): string {
  const end = state === 'failed' ? /^report: (ABORTED|SKIPPED) /.exec(last)?.[1] : undefined;
  return end?.toLowerCase() ?? state;
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
