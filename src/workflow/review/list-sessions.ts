/** Every session, with how far its main line has come and which conversation branches it has. */
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entry.ts';
import { shortRef, turnNumber, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { findHeadLine } from '../line/find.ts';
import { listMainLines, type MainLine } from '../line/list-main.ts';
import { readLine, type TurnStatus } from '../line/read.ts';

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
}

/** Oldest first. `archived`: those as well that are put away. */
export async function listSessions(
  project: Project,
  { archived = false }: { archived?: boolean } = {},
): Promise<ListedSession[]> {
  const [lines, head] = await Promise.all([listMainLines(project, { archived }), findHeadLine(project)]);
  return Promise.all(
    lines.map(async (line) => {
      const current = head?.session === line.session;
      // Where the user stands on another line of the session, that is the one to tell of.
      const isElsewhere = current && head.tip !== null && head.ref !== line.ref;
      const shown = isElsewhere ? { ...line, ref: head.ref, oid: head.tip as Oid, entry: null } : line;
      return {
        session: line.session,
        branch: shortRef(shown.ref),
        remote: line.remote,
        created: line.created,
        ...(await readProgress(project, shown)),
        conversationBranches: line.branches,
        current,
        archived: line.isArchived,
      };
    }),
  );
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
