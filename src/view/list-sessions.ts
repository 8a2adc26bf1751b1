/** Describes the progress of each session's main line, and the session's conversation branches. */
import type { SessionState } from '../session/lines/session-lines.ts';
import { nameRef, shortRef, turnNumber, type Oid, type RefName, type SessionId, type TurnName } from '../names.ts';
import type { SessionSource, SessionStore } from '../ports/git.ts';
import { decodeEntry } from '../session/entries/entry.ts';
import { openLineIndex, type EntryHead, type IndexedFields, type LineIndex } from '../session/lines/line-index.ts';
import { entryTime } from '../session/entries/logged-entry.ts';
import { findLanded, hasSameCode } from '../session/lines/find-landed.ts';
import type { KnownLine, Tips } from '../session/lines/lines.ts';
import type { MainLine } from '../session/lines/main-lines.ts';
import { readStarts, type SessionStart } from '../session/lines/session-starts.ts';
import { awaitsVerdict, readLine } from './line.ts';
import type { TurnStatus } from '../session/lines/line-order.ts';

export interface DescribedSession {
  session: SessionId;
  /** The main line, or the session's line at HEAD; for an archived session, a name such as `archive/20260124-add-login`. */
  line: string;
  /** The remote that has the session when there is no local branch. */
  remote: string | null;
  /** All remotes that have the session in that case. */
  remotes: string[];
  created: string;
  /** The last turn's number; 0 before the first. */
  turns: number;
  status: TurnStatus | 'new';
  /** The last entry's label. */
  last: string;
  conversationBranches: string[];
  /** The session's branches are gone, but all of its content is kept. */
  archived: boolean;
  state: SessionState;
  /** The commit with the agent's work when the state is `committed`. */
  committed: Oid | null;
  /** When the state is `landed` and only a note says so: the squash with the session's code. */
  byNote: Oid | null;
  /**
   * Another local branch of the session that explains the state: the newest one with a plan that has not run, or with
   * code when this line has none.
   */
  beside: { line: string; has: 'plan' | 'code' } | null;
  /**
   * The last step's title; on another agent's line, the title of the last step that is not a snapshot. Empty before the
   * first.
   */
  title: string;
  /** The last entry's time, ISO 8601. */
  updated: string;
  /** The other agent that owns the session; null for teddy's own sessions. */
  agent: string | null;
  /** The model that answered last, if another agent's line names it. */
  model: string | null;
  /** Another agent has submitted a plan and has not continued, and the user has not judged the plan yet. */
  awaitsVerdict: boolean;
}

interface KnownFacts {
  /** The tips of all branches, if git has just listed them. */
  tips?: Tips;
  /** Finds the commits with which people committed other agents' work. Absent in the reader that works without git. */
  findCommitted?: (starts: ReadonlyMap<SessionId, SessionStart>) => Promise<ReadonlyMap<RefName, Oid>>;
  /** Finds the squashes that landed lines according to their notes. Absent in that reader, too. */
  findNoted?: (
    lines: readonly KnownLine[],
    starts: ReadonlyMap<SessionId, SessionStart>,
  ) => Promise<ReadonlyMap<RefName, Oid>>;
}

/** Describes each session from its line in `lines`. */
export async function describeSessions(
  source: SessionSource,
  lines: readonly MainLine[],
  { tips, findCommitted, findNoted }: KnownFacts = {},
): Promise<DescribedSession[]> {
  const { store, cache } = source.repository;
  const started = await readStarts(source, lines);
  const all = lines.flatMap((line) => [line, ...line.others]);
  const told = await findLanded(source, all, started, tips);
  const left = all.filter(({ ref }) => !told.has(ref));
  const noted = await findNoted?.(left, started);
  const landed = new Set([...told, ...(noted?.keys() ?? [])]);
  const committed = await findCommitted?.(started);
  const index = await openLineIndex(cache);
  const described: DescribedSession[] = [];
  for (let at = 0; at < lines.length; at += describedAtOnce) {
    const some = lines.slice(at, at + describedAtOnce).map(async (line) => {
      const agent = started.get(line.session)?.agent ?? null;
      const { planTitle, ...counted } = await reportProgress(store, index, line);
      const captured = agent === null ? null : await reportCaptured(store, index, line);
      const { entry } = line.nearest;
      const beside = await findBeside(store, index, line, landed, started.get(line.session)?.oid ?? null);
      const known = beside?.has === 'plan' ? 'pending' : toState(line, counted.status, landed);
      const isUndecided = (known === 'open' || known === 'closed') && !counted.awaitsVerdict;
      const commit = isUndecided ? (committed?.get(line.ref) ?? null) : null;
      const own = [line, ...line.others];
      const isTold = own.some(({ ref }) => told.has(ref));
      return {
        session: line.session,
        line: nameRef(line.ref),
        remote: line.remote,
        remotes: line.remote === null ? [] : line.remotes,
        created: line.created,
        ...counted,
        conversationBranches: line.others.map(({ ref }) => shortRef(ref)),
        archived: line.isArchived,
        state: commit === null ? known : 'committed',
        committed: commit,
        byNote: known === 'landed' && !isTold ? (own.map(({ ref }) => noted?.get(ref)).find(Boolean) ?? null) : null,
        beside,
        title: planTitle ?? captured?.title ?? toTitle(entry),
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

/** The number of lines to read concurrently. */
const describedAtOnce = 256;
/** The number of entries at a line's end to search; a turn may end with snapshots and notes. */
const lastEntries = 8;

/** Returns a fact about a line's tip. Reads the fact only once, because the index keeps it. */
export async function tellOfLine<Fact extends IndexedFields[string]>(
  index: LineIndex,
  { ref, oid }: Pick<KnownLine, 'ref' | 'oid'>,
  name: string,
  read: () => Promise<Fact>,
): Promise<Fact> {
  const indexed = index.get(ref, oid);
  const known = indexed?.fields?.[name] as Fact | undefined;
  if (known !== undefined) return known;
  const fact = await read();
  // Another call may have extended the index entry meanwhile.
  const now = index.get(ref, oid);
  if (now !== undefined) index.set(ref, oid, { ...now, fields: { ...now.fields, [name]: fact } });
  return fact;
}

/**
 * Returns the other branch that needs the user's decision; null when this line has a plan itself, or when no other
 * branch needs one.
 */
async function findBeside(
  store: SessionStore,
  index: LineIndex,
  line: MainLine,
  landed: ReadonlySet<RefName>,
  start: Oid | null,
): Promise<DescribedSession['beside']> {
  if (line.others.length === 0 || (await reportProgress(store, index, line)).status === 'planned') return null;
  const newest = sortNewest(line.others.filter(({ ref }) => !landed.has(ref)));
  const [planned] = await listPlanned(store, index, newest);
  if (planned !== undefined) return { line: shortRef(planned.ref), has: 'plan' };
  if ([line, ...line.others].some(({ ref }) => landed.has(ref))) return null;
  const hasCode = async (one: KnownLine) =>
    (
      await tellOfLine(index, one, 'code', async () => [start === null || !(await hasSameCode(store, start, one.oid))])
    )[0];
  if (await hasCode(line)) return null;
  for (const other of newest) if (await hasCode(other)) return { line: shortRef(other.ref), has: 'code' };
  return null;
}

/** Returns the lines whose latest turn has a plan that has not run, newest first. */
export async function findPlanned(
  { repository: { store, cache } }: SessionSource,
  lines: readonly KnownLine[],
): Promise<KnownLine[]> {
  const index = await openLineIndex(cache);
  const planned = await listPlanned(store, index, sortNewest(lines));
  await index.save();
  return planned;
}

async function listPlanned(store: SessionStore, index: LineIndex, lines: readonly KnownLine[]): Promise<KnownLine[]> {
  const told = await Promise.all(lines.map((line) => reportProgress(store, index, line)));
  return lines.filter((_, at) => told[at]?.status === 'planned');
}

function sortNewest(lines: readonly KnownLine[]): KnownLine[] {
  return lines.toSorted((a, b) => (a.nearest.entry.id < b.nearest.entry.id ? 1 : -1));
}

/**
 * Finds the title and model of another agent's line, whose last entry is a snapshot that does not describe the session.
 */
async function reportCaptured(
  store: SessionStore,
  index: LineIndex,
  line: MainLine,
): Promise<{ title: string | null; model: string | null }> {
  const [title, model] = await tellOfLine(index, line, 'captured', () => readCaptured(store, line.nearest.oid));
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

/** `planTitle` is the title of a plan that is still pending although the conversation has continued. */
type Progress = Pick<DescribedSession, 'turns' | 'status' | 'last' | 'awaitsVerdict'> & { planTitle: string | null };

/**
 * Returns a line's progress. Most tips reveal it through their label alone; otherwise teddy must read the last turn,
 * because a message may be a question about a plan.
 */
async function reportProgress(store: SessionStore, index: LineIndex, line: KnownLine): Promise<Progress> {
  const { oid, entry } = line.nearest;
  const status = oid === line.oid ? toStatus(entry) : null;
  if (status !== null)
    return { turns: toNumber(entry.turn), status, last: toLast(entry), awaitsVerdict: false, planTitle: null };
  const told = await tellOfLine<ToldProgress>(index, line, 'progress', () => readProgress(store, line.oid));
  const [turns, known, last, awaits, planTitle] = told;
  return { turns, status: known, last, awaitsVerdict: awaits, planTitle: planTitle ?? null };
}

/** The index of an earlier version has no `planTitle`. */
type ToldProgress = [
  turns: number,
  status: Progress['status'],
  last: string,
  awaits: boolean,
  planTitle: string | null,
];

async function readProgress(store: SessionStore, tip: Oid): Promise<ToldProgress> {
  const state = await readLine(store, tip);
  const { latest, entry } = state;
  const isSaid = latest?.status === 'planned' && (entry.kind === 'message' || entry.kind === 'reply');
  const planTitle = isSaid ? (latest.parsed?.plan.title ?? null) : null;
  return [toNumber(latest?.turn ?? null), latest?.status ?? 'new', toLast(entry), awaitsVerdict(state), planTitle];
}

function toStatus(entry: EntryHead): TurnStatus | 'new' | null {
  if (entry.kind === 'start') return 'new';
  if (entry.kind === 'branch') return 'open';
  if (entry.kind === 'report') return 'closed';
  return null;
}

function toNumber(turn: TurnName | null): number {
  return turn === null ? 0 : turnNumber(turn);
}

function toLast(entry: EntryHead): string {
  return `${entry.kind}: ${entry.title}`;
}
