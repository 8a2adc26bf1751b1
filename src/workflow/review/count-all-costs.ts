/**
 * Counts the cost of every session in the repository across all its lines, and reads what the page of all sessions
 * shows. A line up to a given tip never changes, so teddy caches its answers and reads the other lines' answers with one
 * git process.
 */
import { nullIfDamaged } from '../../errors.ts';
import { openLineIndex } from '../../session/lines/line-index.ts';
import type { MainLine } from '../../session/lines/main-lines.ts';
import { readStarts } from '../../session/lines/session-starts.ts';
import { listCodeChanges } from './diff-files.ts';
import { listWaiting, type WaitingPlan } from './inbox.ts';
import { describeState, listNewest, nameEnd, sortNewest, type ListedSession } from './list-sessions.ts';
import { countFiles } from './turn.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { Cache } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { groupBy } from '../../session/text/group-by.ts';
import { isAnswer, sumSpent, type CostedEntry, type Spending } from '../../session/spending/spending.ts';
import { takeLine, tellOfLine, walkLines } from '../../view/view.ts';
import { listRecorded, type RecordedLine } from '../line/find-recorded.ts';
import { readPrices } from './count-cost.ts';

export interface SessionCost {
  session: SessionId;
  /** The number of lines: the main line and the conversation branches, including remote and archived ones. */
  lines: number;
  /** The number of turns on all lines, each counted once. */
  turns: number;
  spent: Spending;
}

/**
 * Returns the sessions sorted by ID. Counts an answer that several lines share only once. `asked` has the title of the
 * first message on the line with each tip.
 */
export async function countAllCosts(
  project: Project,
): Promise<{ sessions: SessionCost[]; total: Spending; asked: ReadonlyMap<Oid, string> }> {
  const read = await readAnswers(project, await listRecorded(project));
  const answersOf = (lines: typeof read) => lines.flatMap(({ answers }) => answers);
  const { priceOf } = await readPrices(project, answersOf(read));
  const sessions = [...groupBy(read, ({ session }) => session)].map(([session, own]) => ({
    session,
    lines: own.length,
    // Different lines may use the same turn name; turns that they share have the same first entry.
    turns: new Set(own.flatMap(({ opening }) => opening)).size,
    spent: sumSpent(answersOf(own), priceOf),
  }));
  sessions.sort((one, other) => (one.session < other.session ? -1 : 1));
  const asked = new Map(read.flatMap((line) => (line.asked === null ? [] : [[line.tip, line.asked] as const])));
  return { sessions, total: sumSpent(answersOf(read), priceOf), asked };
}

interface LineFacts {
  /** The beginning of the first message; null before it. */
  asked: string | null;
  /** How the code differs from the session's start; null when unknown. */
  changed: readonly [files: number, added: number, removed: number] | null;
  /** Null when nobody counted it. */
  spent: Spending | null;
}

interface SessionOverview extends ListedSession, LineFacts {
  /** Other people's plans in the session that wait for this user's approval. */
  waiting: WaitingPlan[];
  /** The state in words. */
  words: string;
  /** The state, or how the last run ended. */
  end: string;
}

/** Returns a function that reads the sessions, newest first. It reads the facts about lines only after a new commit. */
export function overviewReader(project: Project): () => Promise<SessionOverview[]> {
  let last: { key: string; facts: Promise<Map<SessionId, LineFacts>> } | null = null;
  return async () => {
    const listing = listNewest(project, Number.POSITIVE_INFINITY);
    const [{ sessions, lines }, waiting] = await Promise.all([listing, listWaiting(project)]);
    const key = lines.map(({ oid }) => oid).join(' ');
    if (last?.key !== key) {
      last = { key, facts: readFacts(project, lines) };
      last.facts.catch(() => (last = null));
    }
    const facts = await last.facts;
    return sortNewest(sessions, project.clock.now()).map((one) => {
      const own = waiting.filter(({ session }) => session === one.session);
      return {
        ...one,
        ...(facts.get(one.session) as LineFacts),
        waiting: own,
        words: describeState(one),
        end: nameEnd(one),
      };
    });
  };
}

async function readFacts(project: Project, lines: readonly MainLine[]): Promise<Map<SessionId, LineFacts>> {
  const { store, cache } = project.repository;
  const { sessions, asked } = await countAllCosts(project);
  const spent = new Map(sessions.map((one) => [one.session, one.spent]));
  const starts = await readStarts(project, lines);
  const index = await openLineIndex(cache);
  const facts = new Map<SessionId, LineFacts>();
  for (const line of lines) {
    const start = starts.get(line.session)?.oid;
    const count = async (): Promise<[number, number, number]> => {
      const files = await countFiles(store, await listCodeChanges(store, start ?? null, line.oid));
      const sum = (key: 'added' | 'removed') => files.reduce((all, file) => all + file[key], 0);
      return [files.length, sum('added'), sum('removed')];
    };
    const changed = start ? await tellOfLine(index, line, 'changed', count).catch(nullIfDamaged) : null;
    facts.set(line.session, { asked: asked.get(line.oid) ?? null, changed, spent: spent.get(line.session) ?? null });
  }
  await index.save();
  return facts;
}

type LineTip = Pick<RecordedLine, 'session' | 'tip'>;

interface LineAnswers {
  answers: CostedEntry[];
  /** The ID of each turn's first entry. */
  opening: string[];
  /** The title of the first message; null before it. */
  asked: string | null;
}

async function readAnswers(
  { repository: { store, cache } }: Project,
  lines: readonly LineTip[],
): Promise<(LineTip & LineAnswers)[]> {
  const known = await readKept(cache);
  const unknown = lines.filter((line) => !known.has(toKey(line)));
  const walked = await walkLines(store, unknown);
  for (const line of unknown) {
    const entries = takeLine(walked, line).flatMap(({ entry }) => entry ?? []);
    known.set(toKey(line), toAnswers(entries.filter(({ session }) => session === line.session)));
  }
  const found = lines.map((line) => ({ ...line, ...(known.get(toKey(line)) as LineAnswers) }));
  if (unknown.length * rewrittenFor > known.size) await keep(cache, found);
  return found;
}

function toAnswers(entries: readonly Entry[]): LineAnswers {
  const opening = new Map<TurnName, string>();
  for (const { turn, id } of entries) if (turn !== null && !opening.has(turn)) opening.set(turn, id);
  const answers = entries.filter(isAnswer).map(({ id, kind, provider, model, tokens, costUsd }) => ({
    id,
    kind,
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(costUsd === undefined ? {} : { costUsd }),
  }));
  return {
    answers,
    opening: [...opening.values()],
    asked: entries.find(({ kind }) => kind === 'message')?.title ?? null,
  };
}

const cacheKey = 'line-answers';
/** Rewriting the whole cache takes longer than rereading this many lines. */
const rewrittenFor = 1000;

function toKey({ session, tip }: LineTip): string {
  return `${tip} ${session}`;
}

async function readKept(cache: Cache): Promise<Map<string, LineAnswers>> {
  const kept = await cache.read(cacheKey);
  if (kept === null) return new Map();
  const rows = JSON.parse(new TextDecoder().decode(kept)) as [string, LineAnswers][];
  // An earlier version's rows have no first message.
  return new Map(rows.filter(([, { asked }]) => asked !== undefined));
}

async function keep(cache: Cache, found: readonly (LineTip & LineAnswers)[]): Promise<void> {
  const rows = found.map(({ answers, opening, asked, ...line }) => [toKey(line), { answers, opening, asked }]);
  await cache.write(cacheKey, [new TextEncoder().encode(JSON.stringify(rows))]);
}
