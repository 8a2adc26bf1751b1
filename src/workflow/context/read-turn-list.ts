/** Reads a turn's own context list, which the previous turn created. */
import type { Plan } from '../../plan/plan.ts';
import { listSucceeded } from '../../plan/report/report-logs.ts';
import type { Store } from '../../ports/git.ts';
import { typeOf } from '../../plan/actions/actions.ts';
import {
  nextTurnList,
  parseTurnContext,
  type TouchedPath,
  type TurnLine,
} from '../../session/context/context-lines.ts';
import { type TurnName } from '../../names.ts';
import { readTurnFile, readTurnState, type LineState, type TurnState } from '../../view/view.ts';
import { readTurnLogs, readTurnPlan } from './read-turn-logs.ts';

/**
 * Lists the files of the last turn, or the files that its plan's vault named, and the files that its actions touched.
 * Empty before the first turn.
 */
export async function readTurnList(
  store: Store,
  { entryOid, session, latest }: LineState,
  last: TurnName | undefined,
): Promise<TurnLine[]> {
  if (last === undefined) return [];
  const [turn, list] = await Promise.all([
    latest?.turn === last ? latest : readTurnState(store, entryOid, session, last),
    readTurnFile(store, { commit: entryOid, session, turn: last }, 'turn.context'),
  ]);
  const plan = readTurnPlan(turn);
  return nextTurnList({
    list: parseTurnContext(list ?? ''),
    vault: plan?.contextVault ?? null,
    touched: plan === null ? [] : readTouched(turn, plan),
  });
}

function readTouched(turn: TurnState, { actions }: Plan): TouchedPath[] {
  if (turn.report === null) return [];
  const byIndex = new Map(actions.map((action) => [action.index, action]));
  return listSucceeded(readTurnLogs(turn) ?? []).flatMap((index): TouchedPath[] => {
    const action = byIndex.get(index);
    if (action === undefined) return [];
    const { touches, drops } = typeOf(action);
    return touches === undefined
      ? []
      : [{ path: touches(action), by: action.type, ...(drops ? { isDropped: drops } : {}) }];
  });
}
