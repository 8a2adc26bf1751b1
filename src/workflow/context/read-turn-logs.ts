/** Reads a turn's plan and its actions' results, and notes when they are unreadable. */
import { newestGrammar } from '../../session/text/grammar.ts';
import { parsePlan } from '../../plan/parse/parse.ts';
import type { Plan } from '../../plan/plan.ts';
import { readRun, type ReadLog, type ReadRun } from '../../plan/report/report-logs.ts';
import { joinPath, turnDir, type TurnName } from '../../names.ts';
import { toText, type LineState, type TurnState } from '../../view/view.ts';

/** Keeps the parsed plan and report, because they may be large and several functions need them. */
const knownRuns = new WeakMap<TurnState, ReadRun>();
const knownPlans = new WeakMap<TurnState, Plan>();

/** Empty when there is no report; null when the report is damaged. */
export function readTurnLogs(turn: TurnState): ReadLog[] | null {
  return readTurnRun(turn).logs;
}

/** Returns null when the turn has no plan. Parses a plan that has a report with the grammar of that report. */
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

/** Notes that the previous turn's report is damaged, so its actions' files are missing from the context. */
export function noteDamagedReport({ session, latest }: LineState, turn: TurnName): string[] {
  if (latest === null || latest.turn === turn || readTurnLogs(latest) !== null) return [];
  const path = joinPath(turnDir(session, latest.turn), 'report.md');
  return [
    `The report of turn ${latest.turn} cannot be read, so everything that its actions read, wrote or handed over is ignored. ` +
      `It was changed after teddy wrote it: \`git log -- ${path}\`.`,
  ];
}
