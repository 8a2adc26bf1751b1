/** The options of the commands that ask a model for a plan: `teddy plan`, and `teddy branch` with a message. */
import type { ChosenModel } from '../app.ts';
import { exclusionError } from './command-line.ts';
import type { Project } from '../ports/project.ts';
import type { ApproveForeign } from '../workflow/line/foreign-texts.ts';
import { askingForeign, chooseFromFlags } from './ask/choose-model.ts';
import { providers } from '../session/settings/settings.ts';
import { editMessage } from './ask/message.ts';
import type { AfterPlan } from './commands/session/plan-and-run.ts';
import type { PlanningOptions } from './commands/session/plan-and-show.ts';
import { sessionOption, TeddyCommand } from './teddy-command.ts';
import type { Terminal } from './terminal.ts';
import { option } from './option.ts';

export function modelOption(): string | undefined {
  return option('--model', { value: '<name>', describe: 'The model to ask; also: git config teddy.model <name>.' });
}

export function noStreamOption(): boolean {
  return option('--no-stream', {
    describe: 'Show the answer only when it is complete; also: git config teddy.stream false.',
  });
}

type Going = Partial<Pick<AfterPlan, 'run' | 'yes'>> & Pick<PlanningOptions, 'isInstead' | 'mode'>;

/** Base class of every command that asks a model in a session. */
export abstract class AskingCommand extends TeddyCommand {
  session = sessionOption();
  agent = option('-a,--agent', {
    value: '<name>',
    describe: 'The agent: pathfinder (default), dev, architect, debugger, reviewer, or one of your own.',
  });
  model = modelOption();
  provider = option('--provider', {
    value: '<name>',
    describe: `The provider: ${providers.join(', ')}. Default: openai.`,
  });
  recording = option('--recording', {
    value: '<path>',
    describe: 'Use recorded answers from a directory, a bundle or a branch.',
    completes: ['files'],
  });
  noStream = noStreamOption();
}

export abstract class PlanningCommand extends AskingCommand {
  message = option('-m,--message', { value: '<text>', describe: 'What you want, in your words.' });
  from = option('--from', {
    value: '<file>',
    describe: 'Read the answer from a file, or with - from stdin, instead of asking a model.',
    excludes: ['--recording'],
  });
  edit = option('--edit', { describe: 'Write the message in your editor.' });

  protected choose(
    terminal: Terminal,
    project: Project,
    { asksEndpoint = true }: { asksEndpoint?: boolean } = {},
  ): Promise<ChosenModel> {
    return chooseFromFlags(project, this.context, {
      provider: this.provider,
      model: this.model,
      from: this.from,
      recording: this.recording,
      stream: this.noStream ? false : undefined,
      // With a message, the user must first see the request; otherwise, the user provides the answer.
      inEditor: terminal.isInteractive && this.message === undefined && !this.edit,
      asksEndpoint,
    });
  }

  /** Returns undefined when teddy cannot ask anybody. */
  protected toForeignApproval(terminal: Terminal, signal: AbortSignal): ApproveForeign | undefined {
    return askingForeign(terminal, signal, { canAsk: terminal.isInteractive && !this.json });
  }

  /** Returns the message; `-m -` reads it from stdin. */
  protected async composeMessage(
    terminal: Terminal,
    project: Project,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (this.message !== '-') return this.edit ? editMessage(this.context, project, this.message) : this.message;
    requireOne({ '-m -': true, '--edit': this.edit });
    requireOne({ '-m -': true, '--from -': this.from === '-' });
    const { readMessage } = await import('./ask/read-input.ts');
    return readMessage(terminal, signal);
  }

  /** Asks the model that the options name, and shows the answer. Throws NO_MODEL, but only after the message is committed. */
  protected async planAndShow(
    terminal: Terminal,
    project: Project,
    message: string | undefined,
    signal: AbortSignal,
    going: Going = {},
  ): Promise<number> {
    return this.askAndShow(terminal, project, message, signal, await this.choose(terminal, project), going);
  }

  /** Asks a model that was already chosen, and shows the answer. */
  protected async askAndShow(
    terminal: Terminal,
    project: Project,
    message: string | undefined,
    signal: AbortSignal,
    choice: ChosenModel,
    { isInstead = false, mode, ...going }: Going = {},
  ): Promise<number> {
    const { planAndRun } = await import('./commands/session/plan-and-run.ts');
    const options = {
      selector: this.session,
      message,
      agent: this.agent,
      choice,
      approveForeign: this.toForeignApproval(terminal, signal),
      signal,
      isQuiet: this.noStream,
      isInstead,
      mode,
      printJson: this.json ? (schema: string, value: object) => this.printJson(terminal, schema, value) : null,
    };
    // Stdin that provided the message or the answer cannot also answer a question.
    const canAsk = terminal.isInteractive && terminal.isOutputTty && !this.json;
    const page = (text: string) => this.page(terminal, project, text);
    return planAndRun(terminal, project, options, { run: canAsk ? 'ask' : 'never', yes: false, page, ...going });
  }
}

/** Checks requirements on parameters and values that declarations cannot express. Throws USAGE. */
export function requireOne(values: Record<string, boolean>): void {
  const given = Object.keys(values).filter((name) => values[name]);
  if (given.length > 1) throw exclusionError(...given);
}
