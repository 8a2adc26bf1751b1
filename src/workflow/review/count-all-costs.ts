/**
 * Counts the cost of every session in the repository across all its lines. A line up to a given tip never changes, so
 * teddy caches its answers and reads the other lines' answers with one git process.
 */
import type { SessionId, TurnName } from '../../names.ts';
import type { Cache } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { groupBy } from '../../session/text/group-by.ts';
import { isAnswer, sumSpent, type CostedEntry, type Spending } from '../../session/spending/spending.ts';
import { takeLine, walkLines } from '../../view/view.ts';
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

/** Returns the sessions sorted by ID. Counts an answer that several lines share only once. */
export async function countAllCosts(project: Project): Promise<{ sessions: SessionCost[]; total: Spending }> {
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
  return { sessions, total: sumSpent(answersOf(read), priceOf) };
}

type LineTip = Pick<RecordedLine, 'session' | 'tip'>;

interface LineAnswers {
  answers: CostedEntry[];
  /** The ID of each turn's first entry. */
  opening: string[];
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
  return { answers, opening: [...opening.values()] };
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
  return new Map(JSON.parse(new TextDecoder().decode(kept)) as [string, LineAnswers][]);
}

async function keep(cache: Cache, found: readonly (LineTip & LineAnswers)[]): Promise<void> {
  const rows = found.map(({ answers, opening, ...line }) => [toKey(line), { answers, opening }]);
  await cache.write(cacheKey, [new TextEncoder().encode(JSON.stringify(rows))]);
}
