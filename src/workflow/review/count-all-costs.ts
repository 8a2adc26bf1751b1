/** Counts the cost of every session of the repository, with all its lines. */
import type { Project } from '../../ports/project.ts';
import { addSpendings, nothingSpent, sumSpent, type Spending } from '../../session/spending.ts';
import type { SessionId } from '../../names.ts';
import { listRecorded, type RecordedLine } from '../line/find-recorded.ts';
import { readPrices } from './count-cost.ts';
import { readLineAnswers } from './line-answers.ts';

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
  const all = await listRecorded(project);
  const lines = new Map<SessionId, RecordedLine[]>();
  for (const line of all) {
    const others = lines.get(line.session);
    if (others === undefined) lines.set(line.session, [line]);
    else others.push(line);
  }
  const answersOf = await readLineAnswers(project, all);
  const { priceOf } = await readPrices(
    project,
    [...answersOf.values()].flatMap(({ answers }) => answers),
  );
  const sessions: SessionCost[] = [];
  for (const [session, own] of [...lines].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const read = own.flatMap((line) => answersOf.get(line) ?? []);
    // Two lines may each have a turn of one name; those that they share begin with one entry.
    const turns = new Set(read.flatMap(({ opening }) => opening)).size;
    const answers = [...new Map(read.flatMap((line) => line.answers).map((answer) => [answer.id, answer])).values()];
    sessions.push({ session, lines: own.length, turns, spent: sumSpent(answers, priceOf) });
  }
  return { sessions, total: sessions.map(({ spent }) => spent).reduce(addSpendings, nothingSpent) };
}
