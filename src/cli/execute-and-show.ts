/** Executes the pending plan and shows it: for `session execute` and `session resume`. */
import { composeText } from '../app.ts';
import type { Project } from '../ports.ts';
import { executeOrReplan } from '../workflow/execute-or-replan.ts';
import type { ExecuteRequest } from '../workflow/execute-plan.ts';
import { rollBackRun, type SettleChoice } from '../workflow/settle-run.ts';
import { InterruptedRun } from '../workflow/unfinished-run.ts';
import { askingApprover, askMemos, flagApprover } from './approval.ts';
import { askInterrupted } from './ask-interrupted.ts';
import type { ExecutionWish, InterruptedChoice } from './execution-wish.ts';
import { toLineOption } from './name-line.ts';
import { showNext, showRolledBack, toExecutedJson, toExitCode, toRolledBackJson } from './render-executed.ts';
import { showReplanning } from './replanning.ts';
import { toVisible, type Terminal } from './terminal.ts';

export interface Execution {
  terminal: Terminal;
  project: Project;
  signal: AbortSignal;
  /** Shows long text to a person. */
  page(text: string): Promise<void>;
  /** After a success too it is said how to go on. */
  namesNext?: boolean;
  /** What comes next is said by whoever has asked. */
  isInChat?: boolean;
}

/** Returns the exit code. */
export async function executeAndShow(execution: Execution, wish: ExecutionWish): Promise<number> {
  const { terminal, signal } = execution;
  const { interrupted } = wish;
  if (interrupted !== undefined) return settleAndShow(execution, wish, interrupted);
  try {
    return await runAndShow(execution, wish, undefined);
  } catch (error) {
    // To run nothing is no answer to what becomes of what was run.
    if (!(error instanceof InterruptedRun) || !canAsk(terminal, wish) || wish.reject !== undefined) throw error;
    const choice = await askInterrupted(terminal, signal, error);
    if (choice === null) throw error;
    return settleAndShow(execution, wish, choice);
  }
}

async function settleAndShow(execution: Execution, wish: ExecutionWish, choice: InterruptedChoice): Promise<number> {
  if (choice !== 'rollback') return runAndShow(execution, wish, choice);
  const rolledBack = await rollBackRun(execution.project, wish);
  if (wish.printJson) wish.printJson('execute-rollback', toRolledBackJson(rolledBack));
  else showRolledBack(execution.terminal, rolledBack, wish.selector);
  return 0;
}

async function runAndShow(
  execution: Execution,
  wish: ExecutionWish,
  interrupted: SettleChoice | undefined,
): Promise<number> {
  const { terminal, project, signal, namesNext = false, isInChat = false } = execution;
  const { replans, printJson } = wish;
  const request = { ...toRequest(execution, wish), interrupted };
  // Another plan is for one that was not valid, and a run that was killed had a valid one.
  const tries = interrupted === undefined ? replans : 0;
  const replanning = showReplanning(terminal, project, { replans: tries, json: printJson !== null, signal });
  const done = await executeOrReplan(project, request, replanning).finally(() => replanning.end());
  if (printJson) printJson('execute', toExecutedJson(done));
  else if (!isInChat) showNext(terminal, done, { namesNext, option: toLineOption(project, done.executed.line) });
  // To close the turn so is what was asked for.
  return toExitCode(done.executed, request.reject !== undefined || interrupted === 'keep');
}

function canAsk(terminal: Terminal, { printJson }: ExecutionWish): boolean {
  return terminal.isInteractive && printJson === null;
}

function toRequest({ terminal, project, signal, page }: Execution, wish: ExecutionWish): ExecuteRequest {
  const { selector, yes, selection, reject, memos, rollback, printJson } = wish;
  const isJson = printJson !== null;
  const isAsking = canAsk(terminal, wish);
  const edit = (initial: string, fileName: string) => composeText(project, process.env, initial, fileName);
  return {
    ...selection,
    selector,
    approver: yes ? flagApprover(terminal, isJson) : isAsking ? askingApprover({ terminal, signal, edit, page }) : null,
    memos:
      memos !== undefined
        ? { kind: memos }
        : isAsking
          ? { kind: 'ask', ask: (changes) => askMemos(terminal, signal, changes) }
          : { kind: 'none' },
    reject,
    rollback,
    signal,
    onStart: ({ line, turn, plan }) => {
      if (isJson) return;
      const text = `Turn ${turn} of ${line.session}: ${toVisible(plan.plan.title)}`;
      terminal.say(terminal.style('dim', text, 'stderr'));
    },
  };
}
