/** Counts the cost of every session of the repository, with all its lines. */
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entry.ts';
import type { SessionId, TurnName } from '../../names.ts';
import { readEntries, readPrices } from './count-cost.ts';
import { addSpendings, nothingSpent, sumSpent, type Spending } from '../../session/spending.ts';
import { listRecorded, type RecordedLine } from '../line/find-recorded.ts';

export interface SessionCost {
  session: SessionId;
  /** How many lines it has: the main one and its conversation branches, remote and archived ones included. */
  lines: number;
  /** The turns of all its lines, each counted once. */
  turns: number;
  spent: Spending;
}

/** In order of their ids. What several lines share counts once. */
export async function countAllCosts(project: Project): Promise<{ sessions: SessionCost[]; total: Spending }> {
  const lines = new Map<SessionId, RecordedLine[]>();
  for (const line of await listRecorded(project)) lines.set(line.session, [...(lines.get(line.session) ?? []), line]);
  const sessions: SessionCost[] = [];
  for (const [session, own] of [...lines].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const all = await Promise.all(own.map(({ tip }) => readEntries(project.repository.store, session, tip)));
    const entries = [...new Map(all.flat().map((entry) => [entry.id, entry])).values()];
    sessions.push({
      session,
      lines: own.length,
      turns: countTurns(all),
      spent: sumSpent(entries, (await readPrices(project, entries)).priceOf),
    });
  }
  return { sessions, total: sessions.map(({ spent }) => spent).reduce(addSpendings, nothingSpent) };
}

/** Two lines may each have a turn of one name; those that they share begin with one entry. */
function countTurns(lines: readonly (readonly Entry[])[]): number {
  const opening = new Set<string>();
  for (const entries of lines) {
    const seen = new Set<TurnName>();
    for (const { turn, id } of entries) {
      if (turn === null || seen.has(turn)) continue;
      seen.add(turn);
      opening.add(id);
    }
  }
  return opening.size;
}
