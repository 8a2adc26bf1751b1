/** Executes the pending plan and shows the result, for `teddy execute` and `teddy resume`. */
import { composeText } from '../../../app.ts';
import type { Project } from '../../../ports/project.ts';
import { executeOrReplan } from '../../../workflow/run/execute-or-replan.ts';
import type { ExecuteRequest } from '../../../workflow/run/execute-plan.ts';
import { rollBackRun, type SettleChoice } from '../../../workflow/run/settle.ts';
import { InterruptedRun, describeInterrupted, interruptedChoices } from '../../../workflow/line/unfinished-run.ts';
import { askingApprover, askMemos, flagApprover } from '../../ask/approval.ts';
import { type ExecutionOptions, type InterruptedChoice } from './execution-options.ts';
import { toLineOption } from '../../render/name-line.ts';
import { showNext, showRolledBack, toExecutedJson, toExitCode, toRolledBackJson } from '../../render/executed.ts';
import { showReplanning } from './replanning.ts';
import { toSurroundings } from '../../context.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { TeddyError } from '../../../errors.ts';
import { askLine } from '../../ask/line.ts';

export interface Execution {
  terminal: Terminal;
  project: Project;
  signal: AbortSignal;
  /** Shows long text to the user. */
  page(text: string): Promise<void>;
  /** True to suggest the next step even after a success. */
  namesNext?: boolean;
  /** True when the caller suggests the next step. */
  isInChat?: boolean;
}

/** Returns the exit code. */
export async function executeAndShow(execution: Execution, options: ExecutionOptions): Promise<number> {
  const { terminal, signal } = execution;
  const { interrupted } = options;
  if (interrupted !== undefined) return settleAndShow(execution, options, interrupted);
  try {
    return await runAndShow(execution, options, undefined);
  } catch (error) {
    // Running no action does not settle the question about actions that have already run.
    if (!(error instanceof InterruptedRun) || !canAsk(terminal, options) || options.reject !== undefined) throw error;
    const choice = await askInterrupted(terminal, signal, error);
    if (choice === null) throw error;
    return settleAndShow(execution, options, choice);
  }
}

async function settleAndShow(
  execution: Execution,
  options: ExecutionOptions,
  choice: InterruptedChoice,
): Promise<number> {
  if (choice !== 'rollback') return runAndShow(execution, options, choice);
  const rolledBack = await rollBackRun(execution.project, options);
  if (options.printJson) options.printJson('execute-rollback', toRolledBackJson(rolledBack));
  else showRolledBack(execution.terminal, rolledBack, options.selector);
  return 0;
}

async function runAndShow(
  execution: Execution,
  options: ExecutionOptions,
  interrupted: SettleChoice | undefined,
): Promise<number> {
  const { terminal, project, signal, namesNext = false, isInChat = false } = execution;
  const { replans, printJson } = options;
  const request = { ...toRequest(execution, options), interrupted };
  // Replanning is only for invalid plans, and an interrupted plan was valid.
  const tries = interrupted === undefined ? replans : 0;
  const replanning = showReplanning(terminal, project, { replans: tries, json: printJson !== null, signal });
  const done = await executeOrReplan(project, request, replanning).finally(() => replanning.end());
  if (printJson) printJson('execute', toExecutedJson(done));
  else if (!isInChat) showNext(terminal, done, { namesNext, option: toLineOption(project, done.executed.line) });
  // A rejection is a success, because the user asked for it.
  return toExitCode(done.executed, request.reject !== undefined || interrupted === 'keep');
}

function canAsk(terminal: Terminal, { printJson }: ExecutionOptions): boolean {
  return terminal.isInteractive && printJson === null;
}

function toRequest({ terminal, project, signal, page }: Execution, options: ExecutionOptions): ExecuteRequest {
  const { selector, yes, selection, reject, memos, rollback, printJson } = options;
  const isJson = printJson !== null;
  const isAsking = canAsk(terminal, options);
  const edit = (initial: string, fileName: string) =>
    composeText(project, toSurroundings(terminal.context), initial, fileName);
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

const answers: Record<string, InterruptedChoice> = { r: 'resume', b: 'rollback', k: 'keep' };

const help = [
  'r  resume: report the interrupted action as failed, and continue after it',
  'b  roll back: restore the files as they were before the run; the plan stays pending',
  'k  keep: report what was done so far, and run nothing more',
  'q  decide later',
  '?  this help',
].join('\n');

/**
 * Asks what to do about a killed run; returns null when the user postpones the decision. Whatever the answer, no action
 * that had begun runs again. Throws INTERRUPTED on Ctrl-C.
 */
async function askInterrupted(
  terminal: Terminal,
  signal: AbortSignal,
  { run }: InterruptedRun,
): Promise<InterruptedChoice | null> {
  terminal.say(terminal.style('bold', toVisible(describeInterrupted(run)), 'stderr'));
  terminal.say(help);
  for (;;) {
    const answer = await askLine(terminal, signal, terminal.style('bold', 'What now? [r,b,k,q,?] ', 'stderr'));
    if (signal.aborted)
      throw new TeddyError(
        'INTERRUPTED',
        'You interrupted before you decided anything.',
        'Run the command again to decide.',
      );
    const word = answer?.trim().toLowerCase() ?? 'q';
    if (word === 'q' || word === 'quit') return null;
    const choice = answers[word] ?? interruptedChoices.find((one) => one === word);
    if (choice !== undefined) return choice;
    terminal.say(help);
  }
}
