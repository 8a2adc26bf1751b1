/** Every session, with how far its main line has come and which conversation branches it has. */
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entry.ts';
import { shortRef, turnNumber, type Oid, type RefName, type SessionId, type TurnName } from '../../names.ts';
import { findHeadLine } from '../line/find.ts';
import { listMainLines, type MainLine } from '../line/list-main.ts';
import { readLine, type TurnStatus } from '../line/read.ts';
import { readStarts, type SessionStart } from '../line/session-start.ts';
import { findLanded } from './find-landed.ts';

export interface ListedSession {
  session: SessionId;
  /** The main line, or the session's line that HEAD is on. */
  branch: string;
  /** The remote that has it when there is no local branch. */
  remote: string | null;
  created: string;
  /** The number of the last turn; 0 before the first. */
  turns: number;
  status: TurnStatus | 'new';
  /** The label of the last entry. */
  last: string;
  conversationBranches: string[];
  current: boolean;
  /** Its branches are gone; all of it is kept. */
  archived: boolean;
  /**
   * `pending`: its plan was not run. `failed`: its last run was not a success. `closed`: its last turn is over. `landed`: all of it
   * is on a branch that it lands on. `remote`: only a remote has it.
   */
  state: 'pending' | 'open' | 'closed' | 'failed' | 'landed' | 'archived' | 'remote';
  /** The title of its last step; empty before the first. */
  title: string;
  /** ISO 8601, the time of its last entry. */
  updated: string;
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
  const landed = await findLanded(project, lines, starts);
  return Promise.all(
    lines.map(async (line) => {
      const current = head?.session === line.session;
      // Where the user stands on another line of the session, that is the one to tell of.
      const isElsewhere = current && head.tip !== null && head.ref !== line.ref;
      const shown = isElsewhere ? { ...line, ref: head.ref, oid: head.tip as Oid, entry: null } : line;
      const progress = await readProgress(project, shown);
      return {
        session: line.session,
        branch: shortRef(shown.ref),
        remote: line.remote,
        created: line.created,
        ...progress,
        conversationBranches: line.branches,
        current,
        archived: line.isArchived,
        state: toState(line, progress.status, landed),
        title: toTitle(line.nearest.entry),
        updated: toTime(line.nearest.entry),
      };
    }),
  );
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

function toState(line: MainLine, status: ListedSession['status'], landed: Set<RefName>): ListedSession['state'] {
  if (line.isArchived) return 'archived';
  if (line.remote !== null) return 'remote';
  if (landed.has(line.ref)) return 'landed';
  if (status === 'planned') return 'pending';
  if (status !== 'closed') return 'open';
  const { kind, status: outcome } = line.nearest.entry;
  return kind === 'report' && outcome !== undefined && outcome !== 'SUCCESS' ? 'failed' : 'closed';
}

function toTitle({ kind, status, title }: Entry): string {
  if (kind === 'start') return '';
  return status !== undefined && title.startsWith(`${status} `) ? title.slice(status.length + 1) : title;
}

/** The id of an entry is a UUID v7, which begins with the time. */
function toTime({ id, created }: Entry): string {
  const time = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id);
  return time === null ? created : new Date(Number.parseInt(`${time[1]}${time[2]}`, 16)).toISOString();
}

/** Most tips say by their label alone how far a line has come; only a plan has to be read. */
async function readProgress(
  project: Project,
  line: MainLine,
): Promise<Pick<ListedSession, 'turns' | 'status' | 'last'>> {
  const { store } = project.repository;
  const entry = line.entry;
  const known = entry === null ? null : toStatus(entry);
  if (entry !== null && known !== null) return { turns: toNumber(entry.turn), status: known, last: toLast(entry) };
  const state = await readLine(store, line.oid);
  return {
    turns: toNumber(state.latest?.turn ?? null),
    status: state.latest?.status ?? 'new',
    last: toLast(state.entry),
  };
}

function toStatus(entry: Entry): TurnStatus | 'new' | null {
  if (entry.kind === 'start') return 'new';
  if (entry.kind === 'message' || entry.kind === 'branch') return 'open';
  if (entry.kind === 'report') return 'closed';
  return null;
}

function toNumber(turn: TurnName | null): number {
  return turn === null ? 0 : turnNumber(turn);
}

function toLast(entry: Entry): string {
  return `${entry.kind}: ${entry.title}`;
}
