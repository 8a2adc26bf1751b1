/** Asks what is to become of a run that was killed. */
import { TeddyError } from '../errors.ts';
import { describeInterrupted, type InterruptedRun } from '../workflow/unfinished-run.ts';
import { askLine } from './ask-line.ts';
import { interruptedChoices, type InterruptedChoice } from './execution-wish.ts';
import { toVisible, type Terminal } from './terminal.ts';

const answers: Record<string, InterruptedChoice> = { r: 'resume', b: 'rollback', k: 'keep' };

const help = [
  'r  resume: report the interrupted action as failed, and go on after it',
  'b  roll back: put the files back as they were before the run; the plan stays pending',
  'k  keep: report what was done as it stands, and run nothing more',
  'q  decide later',
].join('\n');

/** Null: not now. Nothing that had begun is run again, whatever the answer. Throws INTERRUPTED on Ctrl-C. */
export async function askInterrupted(
  terminal: Terminal,
  signal: AbortSignal,
  { run }: InterruptedRun,
): Promise<InterruptedChoice | null> {
  terminal.say(terminal.style('bold', toVisible(describeInterrupted(run)), 'stderr'));
  terminal.say(help);
  for (;;) {
    const answer = await askLine(terminal, signal, terminal.style('bold', 'What now? [r,b,k,q] ', 'stderr'));
    if (signal.aborted)
      throw new TeddyError(
        'INTERRUPTED',
        'Interrupted before anything was decided.',
        'Run the command again to decide.',
      );
    const word = answer?.trim().toLowerCase() ?? 'q';
    if (word === 'q') return null;
    const choice = answers[word] ?? interruptedChoices.find((one) => one === word);
    if (choice !== undefined) return choice;
  }
}
