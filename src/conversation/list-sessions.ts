/** How far each session's main line has come, and which conversation branches it has. */
import { shortRef, turnNumber, type Oid, type RefName, type SessionId, type TurnName } from '../names.ts';
import type { SessionSource, SessionStore } from '../ports/git.ts';
import { decodeEntry } from '../session/entry.ts';
import { openLineIndex, type EntryHead, type LineIndex } from '../session/line-index.ts';
import { entryTime } from '../session/logged-entry.ts';
import { findLanded } from '../session/find-landed.ts';
import type { Tips } from '../session/lines.ts';
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
   * `pending`: its plan was not run. `failed`: its last run was not a success. `closed`: its last turn is over. `landed`: one of its
   * lines is, as it stands, on a branch that it lands on. `committed`: somebody has committed what another agent did in it. `remote`: only a remote has it.
   */
  state: 'pending' | 'open' | 'closed' | 'failed' | 'landed' | 'committed' | 'archived' | 'remote';
  /** The commit, where the state is `committed`. */
  committed: Oid | null;
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

interface Told {
  /** git has just said where all branches stand. */
  tips?: Tips;
  /** Finds the commits in which people have committed what other agents did; the reader without git does without. */
  findCommitted?: (starts: ReadonlyMap<SessionId, SessionStart>) => Promise<ReadonlyMap<RefName, Oid>>;
}

/** All that is told of a session is told of its line in `lines`. */
export async function describeSessions(
  source: SessionSource,
  lines: readonly MainLine[],
  { tips, findCommitted }: Told = {},
): Promise<DescribedSession[]> {
  const { store, cache } = source.repository;
  const started = await readStarts(source, lines);
  const all = lines.flatMap((line) => [line, ...line.others]);
  const landed = await findLanded(source, all, started, tips);
  const committed = await findCommitted?.(started);
  const index = await openLineIndex(cache);
  const described: DescribedSession[] = [];
  for (let at = 0; at < lines.length; at += describedAtOnce) {
    const some = lines.slice(at, at + describedAtOnce).map(async (line) => {
      const agent = started.get(line.session)?.agent ?? null;
      const progress = toKnownProgress(line) ?? (await tellProgress(store, index, line));
      const captured = agent === null ? null : await tellCaptured(store, index, line);
      const { entry } = line.nearest;
      const known = toState(line, progress.status, landed);
      const isUndecided = (known === 'open' || known === 'closed') && !progress.awaitsVerdict;
      const commit = isUndecided ? (committed?.get(line.ref) ?? null) : null;
      return {
        session: line.session,
        branch: shortRef(line.ref),
        remote: line.remote,
        created: line.created,
        ...progress,
        conversationBranches: line.others.map(({ ref }) => shortRef(ref)),
        archived: line.isArchived,
        state: commit === null ? known : 'committed',
        committed: commit,
        title: captured?.title ?? toTitle(entry),
        updated: entryTime(entry),
        agent,
        model: captured?.model ?? null,
      };
    });
    described.push(...(await Promise.all(some)));
  }
  await index.save();
  return described;
}

/** Lines that are looked at together. */
const describedAtOnce = 256;
/** So many entries of the end are looked at: a turn may end with snapshots and notes. */
const lastEntries = 8;

/** On the line of another agent a snapshot comes last, and says nothing of what the session is about. */
async function tellCaptured(
  store: SessionStore,
  index: LineIndex,
  { ref, oid, nearest }: MainLine,
): Promise<{ title: string | null; model: string | null }> {
  const indexed = index.get(ref, oid);
  const told = indexed?.fields?.['captured'] ?? (await readCaptured(store, nearest.oid));
  if (indexed !== undefined && indexed.fields?.['captured'] !== told)
    index.set(ref, oid, { ...indexed, fields: { ...indexed.fields, captured: told } });
  const [title, model] = told as [string | null, string | null];
  return { title, model };
}

async function readCaptured(store: SessionStore, from: Oid): Promise<[title: string | null, model: string | null]> {
  let [title, model, count]: [string | null, string | null, number] = [null, null, 0];
  for await (const { commit } of store.firstParents(from)) {
    const entry = decodeEntry(commit.message);
    if (entry !== null && entry.kind !== 'snapshot') title ??= toTitle(entry);
    model ??= entry?.model ?? null;
    count += 1;
    if ((title !== null && model !== null) || count === lastEntries) break;
  }
  return [title, model];
}

function toState(
  line: MainLine,
  status: DescribedSession['status'],
  landed: ReadonlySet<RefName>,
): DescribedSession['state'] {
  if (line.isArchived) return 'archived';
  if (line.remote !== null) return 'remote';
  if (landed.has(line.ref)) return 'landed';
  if (status === 'planned') return 'pending';
  if (line.others.some(({ ref }) => landed.has(ref))) return 'landed';
  if (status !== 'closed') return 'open';
  const { kind, status: outcome } = line.nearest.entry;
  return kind === 'report' && outcome !== undefined && outcome !== 'SUCCESS' ? 'failed' : 'closed';
}

function toTitle({ kind, status, title }: EntryHead): string {
  if (kind === 'start') return '';
  return status !== undefined && title.startsWith(`${status} `) ? title.slice(status.length + 1) : title;
}

type Progress = Pick<DescribedSession, 'turns' | 'status' | 'last' | 'awaitsVerdict'>;

/** Most tips say by their label alone how far a line has come. */
function toKnownProgress({ entry }: MainLine): Progress | null {
  const status = entry === null ? null : toStatus(entry);
  if (entry === null || status === null) return null;
  return { turns: toNumber(entry.turn), status, last: toLast(entry), awaitsVerdict: false };
}

/** Where a plan or a commit of the user's is at the tip, the last turn has to be read, once. */
async function tellProgress(store: SessionStore, index: LineIndex, { ref, oid }: MainLine): Promise<Progress> {
  const indexed = index.get(ref, oid);
  const told = indexed?.fields?.['progress'] ?? (await readProgress(store, oid));
  if (indexed !== undefined && indexed.fields?.['progress'] !== told)
    index.set(ref, oid, { ...indexed, fields: { ...indexed.fields, progress: told } });
  const [turns, known, last, awaits] = told as [number, Progress['status'], string, boolean];
  return { turns, status: known, last, awaitsVerdict: awaits };
}

async function readProgress(store: SessionStore, tip: Oid): Promise<[number, Progress['status'], string, boolean]> {
  const state = await readLine(store, tip);
  const { latest } = state;
  return [toNumber(latest?.turn ?? null), latest?.status ?? 'new', toLast(state.entry), awaitsVerdict(state)];
}

function toStatus(entry: EntryHead): TurnStatus | 'new' | null {
  if (entry.kind === 'start') return 'new';
  if (entry.kind === 'message' || entry.kind === 'branch') return 'open';
  if (entry.kind === 'report') return 'closed';
  return null;
}

function toNumber(turn: TurnName | null): number {
  return turn === null ? 0 : turnNumber(turn);
}

function toLast(entry: EntryHead): string {
  return `${entry.kind}: ${entry.title}`;
}
