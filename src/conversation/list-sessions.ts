/** How far each session's main line has come, and which conversation branches it has. */
import { shortRef, turnNumber, type Oid, type RefName, type SessionId, type TurnName } from '../names.ts';
import type { SessionSource, SessionStore } from '../ports/git.ts';
import { decodeEntry, type Entry } from '../session/entry.ts';
import { entryTime } from '../session/logged-entry.ts';
import { findLanded } from '../session/find-landed.ts';
import type { MainLine } from '../session/main-lines.ts';
import { readStarts, type SessionStart } from '../session/session-starts.ts';
import { awaitsVerdict, readLine, type TurnStatus } from './read-line.ts';

export interface DescribedSession {
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
  /** Its branches are gone; all of it is kept. */
  archived: boolean;
  /**
   * `pending`: its plan was not run. `failed`: its last run was not a success. `closed`: its last turn is over. `landed`: all of it
   * is on a branch that it lands on. `remote`: only a remote has it.
   */
  state: 'pending' | 'open' | 'closed' | 'failed' | 'landed' | 'archived' | 'remote';
  /** The title of its last step, on the line of another agent of the last that is no snapshot; empty before the first. */
  title: string;
  /** ISO 8601, the time of its last entry. */
  updated: string;
  /** The other agent whose session it is; null: teddy's own. */
  agent: string | null;
  /** The model that answered last, where the line of another agent says so. */
  model: string | null;
  /** Another agent has handed in a plan, and has not gone on: nobody has judged it yet. */
  awaitsVerdict: boolean;
}

/** `toShown`: the line to tell of, where that is another one of the session. */
export async function describeSessions(
  source: SessionSource,
  lines: readonly MainLine[],
  { starts, toShown = (line) => line }: Partial<DescribeOptions> = {},
): Promise<DescribedSession[]> {
  const { store } = source.repository;
  const started = starts ?? (await readStarts(source, lines));
  const landed = await findLanded(source, lines, started);
  return Promise.all(
    lines.map(async (line) => {
      const shown = toShown(line);
      const progress = await readProgress(store, shown);
      const agent = started.get(line.session)?.agent ?? null;
      const captured = agent === null ? null : await readCaptured(store, line.nearest.oid);
      return {
        session: line.session,
        branch: shortRef(shown.ref),
        remote: line.remote,
        created: line.created,
        ...progress,
        conversationBranches: line.branches,
        archived: line.isArchived,
        state: toState(line, progress.status, landed),
        title: toTitle(captured?.said ?? line.nearest.entry),
        updated: entryTime(line.nearest.entry),
        agent,
        model: captured?.model ?? null,
      };
    }),
  );
}

/** So many entries of the end are looked at: a turn may end with snapshots and notes. */
const lastEntries = 8;

/** On the line of another agent a snapshot comes last, and says nothing of what the session is about. */
async function readCaptured(store: SessionStore, from: Oid): Promise<{ said: Entry | null; model: string | null }> {
  let [said, model, count]: [Entry | null, string | null, number] = [null, null, 0];
  for await (const { commit } of store.firstParents(from)) {
    const entry = decodeEntry(commit.message);
    if (entry !== null && entry.kind !== 'snapshot') said ??= entry;
    model ??= entry?.model ?? null;
    count += 1;
    if ((said !== null && model !== null) || count === lastEntries) break;
  }
  return { said, model };
}

interface DescribeOptions {
  /** The nearest entries of the lines, where they are known already. */
  starts: ReadonlyMap<SessionId, SessionStart>;
  toShown(this: void, line: MainLine): MainLine;
}

function toState(line: MainLine, status: DescribedSession['status'], landed: Set<RefName>): DescribedSession['state'] {
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

/** Most tips say by their label alone how far a line has come; only a plan has to be read. */
async function readProgress(
  store: SessionStore,
  line: MainLine,
): Promise<Pick<DescribedSession, 'turns' | 'status' | 'last' | 'awaitsVerdict'>> {
  const entry = line.entry;
  const known = entry === null ? null : toStatus(entry);
  if (entry !== null && known !== null)
    return { turns: toNumber(entry.turn), status: known, last: toLast(entry), awaitsVerdict: false };
  const state = await readLine(store, line.oid);
  return {
    turns: toNumber(state.latest?.turn ?? null),
    status: state.latest?.status ?? 'new',
    last: toLast(state.entry),
    awaitsVerdict: awaitsVerdict(state),
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
