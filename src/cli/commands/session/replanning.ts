/** Implements `--replan`: asks the model for another plan when one is not valid, and shows the answer. */
import type { ChosenModel } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { Replanning } from '../../../workflow/run/execute-or-replan.ts';
import { askingForeign, chooseFromFlags } from '../../ask/choose-model.ts';
import { showExecuted } from '../../render/executed.ts';
import { showCommitted, showRemarks, toEffort, viewAnswer, type AnswerView } from '../../render/show-answer.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

const maxReplans = 10;
const replansInTerminal = 2;

/** Reads the number that `--replan` takes. Throws USAGE. */
export function parseReplans(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,4}$/.test(text) && Number(text) <= maxReplans) return Number(text);
  throw new TeddyError(
    'USAGE',
    `--replan: ${JSON.stringify(text)} is not a number of tries.`,
    `Use a whole number from 0 to ${maxReplans}: --replan 2.`,
  );
}

interface ReplanningOptions {
  /** Undefined when the user did not specify the option. */
  replans: number | undefined;
  json: boolean;
  signal: AbortSignal;
}

/** `end` removes any remaining progress display. */
export interface ShownReplanning extends Replanning {
  end(): void;
}

export function showReplanning(terminal: Terminal, project: Project, options: ReplanningOptions): ShownReplanning {
  const { replans, json, signal } = options;
  const canAsk = terminal.isInteractive && !json;
  const isStreamed = terminal.isOutputTty && !json;
  const maxTries = replans ?? (canAsk ? replansInTerminal : 0);
  let view: AnswerView | null = null;
  let chosen: ChosenModel | null = null;
  return {
    maxTries,
    approveForeign: askingForeign(terminal, signal, { canAsk }),
    async chooseModel() {
      const choice = await chooseFromFlags(project, terminal.context, { inEditor: false });
      chosen = choice;
      if (choice.model !== null || replans === undefined) return choice;
      throw choice.missing ?? toNobody();
    },
    listen(attempt) {
      view = viewAnswer(terminal, {
        isStreamed,
        describeAsked: ({ line, turn, agent, label }) =>
          `The plan is not valid; asking ${label} as ${agent} again in turn ${turn} of ${line.session}, try ${attempt} of ${maxTries} ...`,
      });
      return view;
    },
    onAnswered(answer) {
      const elapsedMs = view?.end() ?? null;
      if (json) return;
      // Execution shows a plan. This shows an answer with nothing to run, because it is the result.
      if (!isStreamed && answer.actions === 0) terminal.print(`${toVisible(answer.text).replace(/\n$/, '')}\n`);
      showRemarks(terminal, answer);
      showCommitted(terminal, answer, chosen === null ? { elapsedMs: null, model: null } : toEffort(chosen, elapsedMs));
    },
    onExecuted(executed) {
      if (!json) showExecuted(terminal, executed);
    },
    end: () => void view?.end(),
  };
}

function toNobody(): TeddyError {
  return new TeddyError(
    'NO_MODEL',
    'The provider is manual, so there is no model to ask for another plan.',
    'Provide one yourself: `teddy plan -m "..." --from <file>`.',
  );
}
