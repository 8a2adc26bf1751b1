/** The options of everything that asks a model: `session plan`, and `session branch` with a message. */
import { Option } from 'clipanion';
import { chooseModel, composeText, type ChosenModel } from '../app.ts';
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports.ts';
import type { ApproveForeign } from '../workflow/foreign-texts.ts';
import type { PlanOutcome, PlanRequest } from '../workflow/plan-turn.ts';
import { describeEffort, showProgress, type AnswerProgress } from './progress.ts';
import { TeddyCommand } from './teddy-command.ts';
import { toVisible, visibleChunks, type Terminal } from './terminal.ts';

export abstract class PlanningCommand extends TeddyCommand {
  message = Option.String('-m,--message', { description: 'What you want, in your words.' });
  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });
  agent = Option.String('-a,--agent', {
    description: 'Who plans: pathfinder (default), dev, architect, debugger, reviewer, or one of your own.',
  });
  model = Option.String('--model', { description: 'The model to ask; also: git config teddy.model <name>.' });
  provider = Option.String('--provider', { description: 'openai (default), manual or recorded.' });
  recording = Option.String('--recording', {
    description: 'Take recorded answers from a directory, a bundle or a branch.',
  });
  from = Option.String('--from', { description: 'Take the answer from a file, or from stdin with -; asks no model.' });
  edit = Option.Boolean('--edit', false, { description: 'Write the message in your editor.' });
  noStream = Option.Boolean('--no-stream', false, {
    description: 'Show the answer when it is whole, not as it comes.',
  });

  protected async choose(terminal: Terminal, project: Project): Promise<ChosenModel> {
    return chooseModel(project, {
      provider: this.provider,
      model: this.model,
      from: this.from,
      recording: this.recording,
      // With a message the request has to be shown to somebody first; without one the answer is brought.
      inEditor: terminal.isInteractive && this.message === undefined && !this.edit,
      cwd: process.cwd(),
      env: process.env,
      readRecordedLine: async (store, revision) => {
        const { readRecordedLine } = await import('../workflow/read-recording.ts');
        return readRecordedLine(store, project.hash, revision);
      },
    });
  }

  /** Undefined where nobody can be asked. */
  protected toForeignApproval(terminal: Terminal, signal: AbortSignal): ApproveForeign | undefined {
    if (!terminal.isInteractive || this.json) return undefined;
    return async (texts) => (await import('./approval.ts')).askForeign(terminal, signal, texts);
  }

  protected async composeMessage(project: Project): Promise<string | undefined> {
    if (!this.edit) return this.message;
    const hint = '\n# What do you want? Lines that begin with # are left out; an empty message stops.\n';
    const text = await composeText(project, process.env, `${this.message ?? ''}${hint}`, 'MESSAGE.md');
    return text
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .join('\n')
      .trim();
  }

  /** Asks, and shows the answer. Throws NO_MODEL after the message is safe. */
  protected async planAndShow(
    terminal: Terminal,
    project: Project,
    message: string | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    const { planTurn } = await import('../workflow/plan-turn.ts');
    const choice = await this.choose(terminal, project);
    const shows = !this.noStream && !this.json && terminal.isOutputTty;
    const toChunk = visibleChunks();
    let progress: AnswerProgress | null = null;
    const request: PlanRequest = {
      selector: this.session,
      message,
      agent: this.agent,
      choice,
      approveForeign: this.toForeignApproval(terminal, signal),
      signal,
      onUsage: (usage) => progress?.usage(usage),
      onText: (text) => {
        progress?.text(text);
        if (shows) terminal.print(toChunk(text));
      },
      onAsk: ({ line, turn, agent, label }) => {
        // An answer by hand is here already: nobody is asked.
        if (choice.provider === 'manual') return;
        const asked = `Turn ${turn} of ${line.session}: asking ${label} as ${agent} ...`;
        terminal.say(terminal.style('dim', asked, 'stderr'));
        progress = showProgress(terminal, { isStreamed: shows });
      },
    };
    const endProgress = () => {
      const elapsedMs = progress?.end() ?? null;
      terminal.endLine();
      return elapsedMs;
    };
    try {
      const outcome = await planTurn(project, request);
      const elapsedMs = endProgress();
      return this.showOutcome(terminal, outcome, choice, { isShown: shows, elapsedMs });
    } finally {
      endProgress();
    }
  }

  private showOutcome(
    terminal: Terminal,
    outcome: PlanOutcome,
    choice: ChosenModel,
    { isShown, elapsedMs }: { isShown: boolean; elapsedMs: number | null },
  ): number {
    if (outcome.kind === 'open') return this.showOpen(terminal, outcome, choice);
    const { line, turn, commit, entry, text, problems, notes, secrets, actions, usage } = outcome;
    if (this.json) {
      this.printJson(terminal, 'plan', {
        session: line.session,
        line: line.ref.replace('refs/heads/', ''),
        turn,
        entry,
        commit,
        text,
        actions,
        problems,
        notes,
        secrets,
        usage,
      });
      return 0;
    }
    if (!isShown) terminal.print(`${toVisible(text).replace(/\n$/, '')}\n`);
    for (const note of notes)
      terminal.say(terminal.style('dim', `note: line ${note.line}: ${toVisible(note.message)}`, 'stderr'));
    for (const problem of problems) {
      terminal.say(
        `${terminal.style('yellow', 'warning:', 'stderr')} plan.md:${problem.line}:${problem.column}: ${toVisible(problem.message)}`,
      );
      if (problem.hint !== undefined) terminal.say(`         ${toVisible(problem.hint)}`);
    }
    for (const { line: at, kind } of secrets) {
      const place = entry === 'plan' ? `plan.md:${at}` : `line ${at} of the answer`;
      terminal.say(
        `${terminal.style('yellow', 'warning:', 'stderr')} ${place} holds a secret (${kind}); the answer is kept as it came.`,
      );
    }
    // Recorded answers take no time that would mean anything.
    const effort = describeEffort(usage, choice.provider === 'openai' ? elapsedMs : null);
    terminal.say(
      `Turn ${turn} of ${line.session}: ${describeAnswer(entry, actions)} committed as ${commit.slice(0, 10)}${effort === '' ? '' : `; ${effort}`}.`,
    );
    terminal.say(nextStep(entry, actions, problems.length));
    return 0;
  }

  private showOpen(terminal: Terminal, outcome: Extract<PlanOutcome, { kind: 'open' }>, choice: ChosenModel): number {
    const { line, turn, logPath } = outcome;
    if (choice.missing !== null) {
      if (!this.json) terminal.say(`Turn ${turn} of ${line.session}: your message is committed; nobody was asked.`);
      throw choice.missing;
    }
    if (this.json) this.printJson(terminal, 'plan', { session: line.session, turn, entry: 'message', log: logPath });
    else {
      terminal.say(
        `Turn ${turn} of ${line.session}: your message is committed. Show the model what stands in the file below,`,
      );
      terminal.say('then bring its answer: teddy session plan --from answer.md  (or --from - to paste it).');
      terminal.print(`${logPath}\n`);
    }
    return 0;
  }
}

function describeAnswer(entry: 'plan' | 'reply', actions: number): string {
  if (entry === 'reply') return 'an answer that is no plan, kept as a reply,';
  if (actions === 0) return 'a plan without actions';
  return `a plan with ${actions} ${actions === 1 ? 'action' : 'actions'}`;
}

function nextStep(entry: 'plan' | 'reply', actions: number, problems: number): string {
  if (entry === 'reply' || actions === 0) return 'Next: teddy session plan -m "..." goes on.';
  if (problems > 0)
    return 'The plan is not valid as it is: teddy session execute writes that into its report, then plan again.';
  return 'Next: teddy session execute';
}

export function requireOne(values: Record<string, boolean>): void {
  const given = Object.entries(values).filter(([, isGiven]) => isGiven);
  if (given.length > 1)
    throw new TeddyError(
      'USAGE',
      `${given.map(([name]) => name).join(' and ')} exclude each other.`,
      'Use one of them.',
    );
}
