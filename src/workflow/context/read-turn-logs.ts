/** The plan of a turn, what became of its actions, and what a person is told where nobody can know. */
import { newestGrammar } from '../../session/text/grammar.ts';
import { parsePlan } from '../../plan/parse/parse.ts';
import type { Plan } from '../../plan/plan.ts';
import { readRun, type ReadLog, type ReadRun } from '../../plan/report/report-logs.ts';
import { joinPath, turnDir, type TurnName } from '../../names.ts';
import { toText, type LineState, type TurnState } from '../../view/view.ts';

/** Plan and report may be large, and several things are asked of them. */
const knownRuns = new WeakMap<TurnState, ReadRun>();
const knownPlans = new WeakMap<TurnState, Plan>();

/** Empty without a report; null when it is damaged. */
export function readTurnLogs(turn: TurnState): ReadLog[] | null {
  return readTurnRun(turn).logs;
}

/** Null where the turn has none. A plan that has been reported is read as it was read for its report. */
export function readTurnPlan(turn: TurnState): Plan | null {
  if (turn.plan === null) return null;
  const known = knownPlans.get(turn) ?? turn.parsed?.plan;
  if (known !== undefined) return known;
  const { plan } = parsePlan(toText(turn.plan), { grammar: readTurnRun(turn).grammar });
  knownPlans.set(turn, plan);
  return plan;
}

function readTurnRun(turn: TurnState): ReadRun {
  if (turn.report === null) return { grammar: newestGrammar, logs: [] };
  const known = knownRuns.get(turn);
  if (known !== undefined) return known;
  const read = readRun(toText(turn.report));
  knownRuns.set(turn, read);
  return read;
}

/** Notes that the report of the turn before `turn` is damaged: the files of its actions are missing in the context. */
export function noteDamagedReport({ session, latest }: LineState, turn: TurnName): string[] {
  if (latest === null || latest.turn === turn || readTurnLogs(latest) !== null) return [];
  const path = joinPath(turnDir(session, latest.turn), 'report.md');
  return [
    `The report of turn ${latest.turn} cannot be read, so what its actions read, wrote or handed over does not count now. ` +
      `It was changed after teddy wrote it: \`git log -- ${path}\`.`,
  ];
}
