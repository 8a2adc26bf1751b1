/** What became of the actions of a turn, and what a person is told where nobody can know. */
import { readLogs, type ReadLog } from '../plan/report-logs.ts';
import { joinPath, turnDir, type TurnName } from '../session/names.ts';
import { toText, type LineState, type Turn } from './read-line.ts';

/** A report may be large, and several things are asked of it. */
const known = new WeakMap<Turn, ReadLog[] | null>();

/** Empty without a report; null when it is damaged. */
export function readTurnLogs(turn: Turn): ReadLog[] | null {
  if (turn.report === null) return [];
  const before = known.get(turn);
  if (before !== undefined) return before;
  const logs = readLogs(toText(turn.report));
  known.set(turn, logs);
  return logs;
}

/** Of the turn before `turn`: without its report, what its actions brought is missing in the context. */
export function noteDamagedReport({ session, latest }: LineState, turn: TurnName): string[] {
  if (latest === null || latest.turn === turn || readTurnLogs(latest) !== null) return [];
  const path = joinPath(turnDir(session, latest.turn), 'report.md');
  return [
    `The report of turn ${latest.turn} cannot be read, so what its actions read, wrote or handed over does not count now. ` +
      `It was changed after teddy wrote it: \`git log -- ${path}\`.`,
  ];
}
