import { openAgentPlace, openCapture } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { nameRef, shortRef } from '../../../names.ts';
import { agents, openableAgents, type AgentName } from '../../../agents/agents.ts';
import { countOf } from '../../../session/spending/describe-spending.ts';
import { nameSome } from '../../../session/text/name-some.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import type { OpenedSession } from '../../../workflow/conversation/open-with.ts';
import type { NextStep } from '../../../workflow/turn/find-next-step.ts';
import { askingForeign, chooseFromFlags } from '../../ask/choose-model.ts';
import { toExecutionOptions, type ExecutionOptions } from './execution-options.ts';
import { toLineOption } from '../../render/name-line.ts';
import { toSurroundings } from '../../context.ts';
import { noStreamOption } from '../../plan-options.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

interface Resuming {
  terminal: Terminal;
  project: Project;
  signal: AbortSignal;
  step: NextStep;
  /** Whether the command has gone to the session's branch. */
  hasGone: boolean;
}

export class SessionResumeCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Go on',
    description: 'Do the next step: run the plan, ask the model again, or take your next message.',
    details: `
      With a session, it first goes to that session's branch, in this work tree or, with --worktree, in a linked one. A
      session that is only on a remote is pulled first. With -s, it goes nowhere.

      With --with, the session continues in another agent: teddy writes its history, up to its end or to a turn, as a
      log in the agent's own format, and prints the command that resumes it. The session can come from any agent and
      any machine. The agent gets the messages, the answers, and the tool calls with their results; thinking is left
      out, and masked text stays masked. Start the agent in the work tree of the session or, after -s and in a bare
      repository, in the current directory. None of the agent's other files are touched.

      A plan without a report is executed as by \`teddy execute\`; if its run was killed, teddy first asks you what
      to do about that. A message without an answer is sent again with exactly the same request, as by \`teddy
      plan\`, or as in its conversation. If nothing is waiting, teddy asks for your next message, provided there is a
      terminal.

      Each call does one step. Exit codes: those of \`teddy execute\` and \`teddy plan\`; also 3 if nothing is
      waiting and nobody can be asked, and 1 if the log could not be written.
    `,
    examples: [
      ['After a break, or a crash', '$0 resume'],
      ['A session that began on another machine', '$0 resume add-login'],
      ['The same in Claude Code', '$0 resume add-login --with claude-code'],
      ['In Codex from turn 03, without going there', '$0 resume -s add-login:03 --with codex'],
      ['Another session, without going there', '$0 resume -s add-login'],
      ['Approve every action in the plan', '$0 resume -y'],
    ],
  });

  target = parameter('session[:turn]', { optional: true, completes: ['sessions'] });
  session = sessionOption();
  with = option('--with', {
    value: '<agent>',
    describe: `Continue in this agent: ${openableAgents.slice(0, -1).join(', ')} or ${openableAgents.at(-1)}.`,
  });
  worktree = option('--worktree', { describe: 'Use a linked work tree for the session.' });
  yes = option('-y,--yes', {
    describe: 'Approve every action in a plan and every call in a conversation, but no memos.',
  });
  noStream = noStreamOption();

  protected run(terminal: Terminal): Promise<number> {
    const agent = this.with === undefined ? null : toAgent(this.with);
    if (this.target !== undefined && this.session !== undefined)
      throw new TeddyError('USAGE', 'You named two sessions.', 'Name one, with or without `-s`.');
    // Names of sessions and branches contain no colon.
    const [selector, turn] = (this.target ?? this.session)?.split(':') ?? [];
    if (turn !== undefined && agent === null)
      throw new TeddyError('USAGE', 'A turn goes with --with.', 'Add `--with <agent>`, or omit the turn.');
    const goes = this.target !== undefined || (agent !== null && this.session === undefined);
    this.session = selector;
    // Loads while git reads the repository.
    const loading = import('../../../workflow/turn/find-next-step.ts');
    return this.withProjectAndSignal(terminal, 'teddy resume', async (project, signal) => {
      await this.offerOrphans(terminal, project, signal);
      // An agent reads a session without its files.
      const isBare = project.repository.workspace === null && agent !== null;
      const hasGone = this.worktree || (goes && !isBare);
      const root = hasGone ? await this.goThere(terminal, project, signal) : null;
      if (agent !== null) return this.openInAgent(terminal, project, { agent, turn, root });
      const { findNextStep } = await loading;
      const step = await findNextStep(project, this.session);
      // The user has already confirmed the line.
      if (step.line.found === 'open') this.session = shortRef(step.line.ref);
      if (!this.json && step.kind !== 'message') terminal.say(describeStep(step));
      const resuming = { terminal, project, signal, step, hasGone };
      if (step.kind === 'execute') return this.executePending(resuming);
      if (step.kind === 'ask') return step.mode === 'chat' ? this.talk(resuming) : this.ask(resuming);
      return this.askNext(resuming);
    });
  }

  /** Checks the session's branch out, and pulls it first if it is not here. Returns the root of its work tree. */
  private async goThere(terminal: Terminal, project: Project, signal: AbortSignal): Promise<string> {
    const selector = this.session;
    const { goToLine } = await import('../../../workflow/line/open-work-tree.ts');
    if (selector !== undefined) await this.pullMissing(terminal, project, selector, signal);
    const { ref, root, hasSwitched } = await goToLine(project, selector, { inWorkTree: this.worktree });
    this.session = shortRef(ref);
    if (hasSwitched) terminal.say(`Switched to ${toVisible(this.session)}.`);
    else if (root !== project.repository.workspace?.root) terminal.say(toVisible(`${this.session} is in ${root}.`));
    return root;
  }

  private async pullMissing(
    terminal: Terminal,
    project: Project,
    selector: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { findLine } = await import('../../../workflow/line/find.ts');
    const { isBehindRemote } = await import('../../../workflow/line/open-work-tree.ts');
    const missing = await findLine(project, selector).then(
      async (line) => (line.tip === null || (await isBehindRemote(project, line)) ? 'fetched' : null),
      (error: unknown) => {
        if (error instanceof TeddyError && error.code === 'UNKNOWN_SESSION') return error;
        throw error;
      },
    );
    if (missing === null) return;
    const { pullSessions } = await import('../../../workflow/sharing/pull-sessions.ts');
    try {
      const { remote, lines } = await pullSessions(project, { selector, signal });
      const taken = lines.filter(({ did }) => did.length > 0);
      if (taken.length > 0)
        terminal.say(toVisible(`Pulled ${nameSome(taken.map(({ ref }) => nameRef(ref)))} from ${remote.label}.`));
    } catch (error) {
      if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
      // Without a remote, or if the remote does not know it either, the session is simply unknown.
      if (missing instanceof TeddyError)
        throw ['UNKNOWN_REMOTE', 'UNKNOWN_SESSION'].includes(error.code) ? missing : error;
      project.notices.warn(`${error.message} Continuing with what was fetched before.`);
    }
  }

  /** Writes the session as a log of the agent, which capture then does not take for the agent's own work. */
  private async openInAgent(
    terminal: Terminal,
    project: Project,
    { agent, turn, root }: { agent: AgentName; turn: string | undefined; root: string | null },
  ): Promise<number> {
    const { openWith } = await import('../../../workflow/conversation/open-with.ts');
    const isHere = root === null || root === project.repository.workspace?.root;
    const context = isHere ? this.context : { ...this.context, cwd: () => root };
    const logs = await openAgentPlace(agent, toSurroundings(context));
    const opened = await openWith(project, { selector: this.session, turn }, { agent, logs });
    const { noteOwnLog } = await import('../../../workflow/capture/capture.ts');
    await noteOwnLog(openCapture(project, context.env), agent, opened.path, project.clock.now().toISOString());
    if (this.json) this.printJson(terminal, 'session-open', opened);
    else showOpened(terminal, opened, isHere ? null : root);
    return 0;
  }

  private async executePending({ terminal, project, signal }: Resuming): Promise<number> {
    const [{ executeAndShow }, { keepingTypedAhead }] = await Promise.all([
      import('./execute-and-show.ts'),
      import('../../ask/typed-ahead.ts'),
    ]);
    // A key pressed before the question appeared approves nothing.
    const asking = keepingTypedAhead(terminal, () => undefined);
    const page = (text: string) => this.page(terminal, project, text);
    const options = toExecutionOptions({
      selector: this.session,
      yes: this.yes,
      printJson: this.toJsonPrinter(terminal),
    });
    return executeAndShow({ terminal: asking, project, signal, page, namesNext: true }, options);
  }

  private async ask({ terminal, project, signal, step }: Resuming, message?: string): Promise<number> {
    // The user was to write the answer by hand, and still has to.
    const isManual = step.kind === 'ask' && step.provider === 'manual';
    const { planAndRun } = await import('./plan-and-run.ts');
    const options = {
      selector: this.session,
      message,
      choice: await chooseFromFlags(project, this.context, {
        ...(isManual ? { provider: 'manual' } : {}),
        stream: this.noStream ? false : undefined,
        inEditor: terminal.isInteractive && message === undefined,
      }),
      approveForeign: askingForeign(terminal, signal, { canAsk: this.canAsk(terminal) }),
      signal,
      isQuiet: this.noStream,
      printJson: this.toJsonPrinter(terminal),
    };
    const page = (text: string) => this.page(terminal, project, text);
    return planAndRun(terminal, project, options, {
      run: this.canAsk(terminal) ? 'ask' : 'never',
      yes: this.yes,
      page,
    });
  }

  private async talk({ terminal, project, signal }: Resuming): Promise<number> {
    const [{ openChat }, { chatOnce }, { keepingTypedAhead }] = await Promise.all([
      import('./chat/open.ts'),
      import('./chat/once.ts'),
      import('../../ask/typed-ahead.ts'),
    ]);
    const { yes, json, noStream } = this;
    const stream = noStream ? false : undefined;
    const choice = await chooseFromFlags(project, this.context, { stream, inEditor: false });
    const flags = { agent: undefined, choice, yes, json, noStream, mayAsk: true };
    const asking = { message: undefined, selector: this.session, signal };
    const printJson = json ? (value: object) => this.printJson(terminal, 'chat', value) : null;
    return chatOnce(
      await openChat(
        keepingTypedAhead(terminal, () => undefined),
        project,
        flags,
      ),
      asking,
      printJson,
    );
  }

  /** Asks for the next message. Throws NOTHING_TO_RESUME when teddy can ask nobody and has not gone anywhere either. */
  private async askNext(resuming: Resuming): Promise<number> {
    const { terminal, project, signal, step, hasGone } = resuming;
    if (!this.canAsk(terminal) && !hasGone) throw toNothing(step);
    terminal.say(describeStep(step));
    if (!this.canAsk(terminal)) {
      if (this.json) this.printJson(terminal, 'session-resume', { session: step.line.session, waiting: null });
      else terminal.say(`Next: teddy plan${toLineOption(project, step.line)} -m "what you want"`);
      return 0;
    }
    const { askMessage } = await import('../../ask/message.ts');
    const message = await askMessage(terminal, project, signal);
    if (message !== null) return this.ask(resuming, message);
    terminal.say('You entered no message, so nothing has changed.');
    const option = this.session === undefined ? '' : ` -s ${toShellWord(this.session)}`;
    terminal.say(`Next: teddy plan${option} -m "..."`);
    return 0;
  }

  private canAsk(terminal: Terminal): boolean {
    return terminal.isInteractive && !this.json;
  }

  private toJsonPrinter(terminal: Terminal): ExecutionOptions['printJson'] {
    return this.json ? (schema, value) => this.printJson(terminal, schema, value) : null;
  }
}

function describeStep(step: NextStep): string {
  const { session } = step.line;
  if (step.kind === 'message') return `Nothing is waiting in ${session}.`;
  const waiting =
    step.kind === 'execute' ? 'its plan is waiting to be executed' : 'its message is waiting for an answer';
  return `Continuing turn ${step.turn} of ${session}: ${waiting}.`;
}

function toNothing({ line }: NextStep): TeddyError {
  return new TeddyError(
    'NOTHING_TO_RESUME',
    `Nothing is waiting on ${shortRef(line.ref)}: no plan to execute, and no message without an answer.`,
    'Continue with `teddy plan -m "..."`, or talk with `teddy chat`.',
  );
}

/** Throws UNKNOWN_AGENT. */
function toAgent(text: string): AgentName {
  const agent = openableAgents.find((known) => known === text);
  if (agent !== undefined) return agent;
  const hint = `Choose one of: ${openableAgents.join(', ')}.`;
  throw new TeddyError('UNKNOWN_AGENT', `teddy cannot open a session with ${JSON.stringify(text)}.`, hint);
}

/** `root` is the work tree to start the agent in, if that is not this one. */
function showOpened(terminal: Terminal, opened: OpenedSession, root: string | null): void {
  const { agent, turns, turn, session, repairs, command, pendingPlan } = opened;
  const { title, program } = agents[agent];
  terminal.say(toVisible(`Wrote ${countOf(turns, 'turn')} of ${session}, up to ${turn}, to ${opened.path}.`));
  if (repairs.length > 0) terminal.say('The history needed repairs; `teddy history` lists them.');
  if (pendingPlan !== null)
    terminal.say(
      `The plan of turn ${pendingPlan} has not been executed. It stays pending here; ${title} only reads it.`,
    );
  if (!opened.isInstalled) terminal.say(`There is no \`${program}\` on your PATH: install ${agent} first.`);
  terminal.print(toVisible(`${root === null ? '' : `cd ${toShellWord(root)} && `}${command}\n`));
}
