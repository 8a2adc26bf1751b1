/** Everything that a command's file needs: its declarations, its project, its terminal, and errors that name the next step. */
import { Command } from 'clipanion';
import { openAgentSetup, openCapture, openProject, startBeside } from '../app.ts';
import { exitCodes, TeddyError, toMessage } from '../errors.ts';
import type { Notices, Project } from '../ports/project.ts';
import { readTurnPath, toShortForm } from './arguments.ts';
import { toShellWord } from '../session/text/shell-word.ts';
import { AmbiguousSessionError } from '../workflow/line/find.ts';
import { renderError } from './render/error.ts';
import { isDebug, readWorkingDirectory, type CliContext } from './context.ts';
import { openTerminal, toJson, type Terminal, type ColorMode } from './terminal.ts';
import { toVisible } from '../session/text/visible-text.ts';
import { option } from './option.ts';

export { option, parameter, parameters } from './option.ts';
export type { Terminal } from './terminal.ts';

type Usage = NonNullable<typeof Command.usage>;

/** Declares a command's help texts; its options and parameters provide the rest. */
export function usage(texts: Usage): Usage {
  return texts;
}

export function sessionOption(): string | undefined {
  return option('-s,--session', {
    value: '<session>',
    describe: 'A session id or a unique part of it, a branch, or a session directory.',
  });
}

export abstract class TeddyCommand extends Command<CliContext> {
  json = option('--json', { describe: 'Print one JSON document on stdout, even for errors.' });
  color = option('--color', { value: '[=when]', describe: 'Use colors: auto (default), always or never.' });

  /** Reads options, calls one workflow and shows its result. Returns the exit code. */
  protected abstract run(terminal: Terminal): Promise<number>;

  // Handles errors, because clipanion would print them to stdout and exit with 0.
  async execute(): Promise<number> {
    let terminal = openTerminal(this.context, 'auto');
    try {
      terminal = openTerminal(this.context, this.toColorMode());
      readTurnPaths(this);
      return await this.run(terminal);
    } catch (error) {
      const told =
        error instanceof AmbiguousSessionError ? withCommand(error, this.context.words) : keepSession(error, this);
      return renderError(terminal, told, { json: this.json, debug: isDebug(this.context) });
    }
  }

  /**
   * When to trust HEAD. `once`: the command reads HEAD as soon as the repository is open, and must not ask a question
   * or read a long input first, because HEAD may move in the meantime. `always`: the command changes nothing.
   */
  protected trustsHead = (_terminal: Terminal): 'once' | 'always' | undefined => undefined;

  /** Opens the project that the command runs in, and always closes it. */
  protected async withProject(
    terminal: Terminal,
    use: (project: Project) => Promise<number>,
    notices = this.notices(terminal),
  ): Promise<number> {
    return closeAfter(await openHere(terminal, notices, this.trustsHead(terminal)), async (project) => {
      await this.tellNews(terminal, project);
      return use(project);
    });
  }

  /** Opens the project, with a signal that Ctrl-C aborts; `next` is as for `withInterrupt`. */
  protected withProjectAndSignal(
    terminal: Terminal,
    next: string,
    use: (project: Project, signal: AbortSignal) => Promise<number>,
  ): Promise<number> {
    return withInterrupt(terminal, next, (signal) => this.withProject(terminal, (project) => use(project, signal)));
  }

  /** Passes null when the command runs outside a repository. */
  protected async withProjectIfAny(
    terminal: Terminal,
    use: (project: Project | null) => Promise<number>,
  ): Promise<number> {
    const project = await openHere(terminal, this.notices(terminal), this.trustsHead(terminal)).catch(
      (error: unknown) => {
        if (error instanceof TeddyError && error.code === 'NOT_A_REPOSITORY') return null;
        throw error;
      },
    );
    return project === null ? use(null) : closeAfter(project, use);
  }

  /** Shows notices on the terminal, where teddy can also ask the user. */
  private notices(terminal: Terminal): Notices {
    const notices = terminalNotices(terminal);
    if (!terminal.isInteractive || this.json) return notices;
    return { ...notices, confirm: (question) => confirm(terminal, question) };
  }

  /** Looks for logs that no hook reported. Commands that list sessions run this in the background, at most once a minute. */
  protected async sweepInBackground(project: Project): Promise<void> {
    const { env, main } = this.context;
    const { exists } = await project.spool.look();
    const root = project.repository.workspace?.root;
    if (!exists || root === undefined || env['TEDDY_CAPTURE'] === '0') return;
    const { isSweepDue } = await import('../workflow/capture/sweep.ts');
    if (await isSweepDue(project, openCapture(project, env)))
      await startBeside([main, 'capture', 'sweep', '--json'], root);
  }

  /** True for a command that shows by itself which agents' hooks have gone silent. */
  protected showsSilentAgents = false;

  /** Tells a person once which agents' hooks have gone silent here, and which versions teddy has not met. */
  private async tellNews(terminal: Terminal, project: Project): Promise<void> {
    const { env, main } = this.context;
    if (!terminal.isInteractive || this.json || env['TEDDY_CAPTURE'] === '0') return;
    if (!(await project.spool.look()).exists) return;
    const { takeNews } = await import('../workflow/capture/news.ts');
    const setup = await openAgentSetup(main, env);
    const options = { withSilent: !this.showsSilentAgents };
    // The command runs even where nothing can be looked up or noted, as on a read-only disk.
    const news = await takeNews(project, setup, openCapture(project, env), options).catch((error: unknown) => [
      `Looking for news of agents failed: ${toMessage(error)}`,
    ]);
    for (const sentence of news) terminalNotices(terminal).warn(sentence);
  }

  /** Describes the agents that have worked here without a call from their hooks, in sentences without full stops. */
  protected async describeSilentAgents(project: Project): Promise<string[]> {
    const { env, main } = this.context;
    if (!(await project.spool.look()).exists) return [];
    const { describeSilent, findSilentAgents } = await import('../workflow/capture/status.ts');
    const setup = await openAgentSetup(main, env);
    return (await findSilentAgents(project, await setup.list(), openCapture(project, env))).map(describeSilent);
  }

  /** Offers or clears away interrupted write sessions. A command that writes calls this first. */
  protected async offerOrphans(
    terminal: Terminal,
    project: Project,
    signal: AbortSignal = new AbortController().signal,
    /** False when input on stdin is not an answer. */
    mayAsk = true,
  ): Promise<void> {
    // Usually there are none. If looking fails, teddy only reports the failure, and the command continues.
    if (await project.writes.isEmpty().catch(() => false)) return;
    const { offerOrphans } = await import('./ask/offer-orphans.ts');
    const page = (text: string) => this.page(terminal, project, text);
    await offerOrphans({ terminal, project, signal, page, canAsk: mayAsk && terminal.isInteractive && !this.json });
  }

  /** Shows a long text to the user. */
  protected async page(terminal: Terminal, project: Project | null, text: string): Promise<void> {
    const pager = terminal.isOutputTty ? project?.repository.store.setting('core.pager') : undefined;
    await terminal.page(text, await pager);
  }

  protected printJson(terminal: Terminal, schema: string, value: object): void {
    terminal.print(toJson({ schema: `teddy.${schema}/1`, ...value }));
  }

  private toColorMode(): ColorMode {
    if (this.color === undefined) return 'auto';
    if (this.color === true) return 'always';
    if (this.color === false) return 'never';
    if (this.color === 'auto' || this.color === 'always' || this.color === 'never') return this.color;
    throw new TeddyError('USAGE', `--color does not accept ${String(this.color)}.`, 'Use auto, always or never.');
  }
}

/** Reads a command's turns, which a shell may have completed to paths. */
function readTurnPaths(given: TeddyCommand): void {
  const command: { session?: string | undefined; turn?: string; a?: string; b?: string } & TeddyCommand = given;
  for (const field of ['turn', 'a', 'b'] as const) {
    const text = command[field];
    if (typeof text !== 'string') continue;
    const { turn, session } = readTurnPath(text, command.session);
    command[field] = turn;
    if (session !== undefined) command.session = session;
  }
}

/**
 * Adds the named session to the hint. Otherwise, the next step would apply to the session that HEAD is on, or to the
 * newest one.
 */
function keepSession(error: unknown, command: object): unknown {
  const { session } = command as { session?: unknown };
  if (typeof session !== 'string' || !(error instanceof TeddyError) || error.hint === undefined) return error;
  const step = /`teddy (?:plan|ask|execute|chat|undo|show|resume(?! [^-`])|say|log(?=`))(?![^`]* -s )/g;
  return Object.assign(error, { hint: error.hint.replace(step, (all) => `${all} -s ${toShellWord(session)}`) });
}

/** Suggests the same command with the newest of the matching sessions. */
function withCommand({ code, message, selector, newest }: AmbiguousSessionError, argv: readonly string[]): TeddyError {
  const words = toShortForm(argv).map((word) =>
    word === selector
      ? newest
      : word.replace(/^(-s=?|--session=)(.*)$/s, (all, flag, value) => (value === selector ? `${flag}${newest}` : all)),
  );
  return new TeddyError(code, message, `The newest is ${newest}: \`teddy ${words.map(toShellWord).join(' ')}\`.`);
}

export function openHere(
  terminal: Terminal,
  notices: Notices,
  trustsHead: 'once' | 'always' | undefined,
): Promise<Project> {
  return (terminal.context.openProject ?? openProject)({
    cwd: readWorkingDirectory(terminal.context),
    env: terminal.context.env,
    notices,
    trustsHead,
    tree: terminal.context.tree,
    ...(isDebug(terminal.context)
      ? { trace: (line: string) => terminal.say(terminal.style('dim', line, 'stderr')) }
      : {}),
  });
}

async function closeAfter(project: Project, use: (project: Project) => Promise<number>): Promise<number> {
  try {
    return await use(project);
  } finally {
    await project.repository.close();
  }
}

/** Asks a yes-or-no question. Throws INTERRUPTED on Ctrl-C. */
async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  const { askAgainHint, askYes } = await import('./ask/finish-write.ts');
  return withInterrupt(terminal, 'teddy status', (signal) =>
    askYes(terminal, signal, `${toVisible(question)} [y/N] `, false, askAgainHint),
  );
}

export function terminalNotices(terminal: Terminal): Notices {
  return {
    info: (text) => terminal.say(toVisible(text)),
    warn: (text) => terminal.say(`${terminal.style('yellow', 'warning:', 'stderr')} ${toVisible(text)}`),
  };
}

/** Ctrl-C, a request to terminate, or a closed terminal: after each of these, the commands that teddy runs must also end. */
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs `work` with a signal. The first Ctrl-C asks the command to end; the second one exits immediately. Entries
 * already on the line stay there, and `next` is the command that shows the unfinished work. A closed terminal sends its
 * signal twice, by itself and through its shell; that does not count as a second Ctrl-C.
 */
export async function withInterrupt<Value>(
  terminal: Terminal,
  next: string,
  use: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController();
  const { signals, exit } = terminal.context;
  const interrupt = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) return controller.abort();
    if (name === 'SIGHUP') return;
    terminal.say(`Exiting at once, without waiting for what is still running. \`${next}\` shows what is unfinished.`);
    exit(exitCodes.INTERRUPTED);
  };
  for (const name of endings) signals.on(name, interrupt);
  try {
    return await use(controller.signal);
  } finally {
    for (const name of endings) signals.off(name, interrupt);
  }
}
