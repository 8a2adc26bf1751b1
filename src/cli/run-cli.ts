/** Finds the command that argv names, or says why there is none. */
import { isatty } from 'node:tty';
import { Cli, type CommandClass, type Definition } from 'clipanion';
import { version } from '../../package.json';
import { expandShortForm, internalCommands, normalizeArguments, refuseRepeated } from './arguments.ts';
import { renderCommandHelp } from './command-help.ts';
import type { CliContext } from './context.ts';
import { findGroupHelp, helpCommands } from './commands/help.ts';
import { renderError } from './render/error.ts';
import { openTerminal } from './terminal.ts';
import { toUnknownCommand, toUsageError } from './usage-error.ts';

type Command = CommandClass<CliContext>;

/** By the words that call them. A process loads the one that it runs: setting up the code of all takes longer than most of them run. */
const commands: Record<string, () => Promise<Command>> = {
  status: async () => (await import('./commands/status.ts')).StatusCommand,
  hook: async () => (await import('./commands/hook.ts')).HookCommand,
  'hooks install': async () => (await import('./commands/hooks/install.ts')).HooksInstallCommand,
  'hooks uninstall': async () => (await import('./commands/hooks/uninstall.ts')).HooksUninstallCommand,
  'capture install': async () => (await import('./commands/capture/install.ts')).CaptureInstallCommand,
  'capture uninstall': async () => (await import('./commands/capture/uninstall.ts')).CaptureUninstallCommand,
  'capture status': async () => (await import('./commands/capture/status.ts')).CaptureStatusCommand,
  'capture pause': async () => (await import('./commands/capture/pause.ts')).CapturePauseCommand,
  'capture resume': async () => (await import('./commands/capture/pause.ts')).CaptureResumeCommand,
  why: async () => (await import('./commands/blame.ts')).WhyCommand,
  blame: async () => (await import('./commands/blame.ts')).BlameCommand,
  init: async () => (await import('./commands/init.ts')).InitCommand,
  config: async () => (await import('./commands/config.ts')).ConfigCommand,
  'models update': async () => (await import('./commands/models.ts')).ModelsUpdateCommand,
  models: async () => (await import('./commands/models.ts')).ModelsCommand,
  completion: async () => (await import('./commands/completion.ts')).CompletionCommand,
  'session new': async () => (await import('./commands/session/new.ts')).SessionNewCommand,
  'session plan': async () => (await import('./commands/session/plan.ts')).SessionPlanCommand,
  'session ask': async () => (await import('./commands/session/plan.ts')).SessionAskCommand,
  'session chat': async () => (await import('./commands/session/chat.ts')).SessionChatCommand,
  'session execute': async () => (await import('./commands/session/execute.ts')).SessionExecuteCommand,
  'session resume': async () => (await import('./commands/session/resume.ts')).SessionResumeCommand,
  'session branch': async () => (await import('./commands/session/branch.ts')).SessionBranchCommand,
  'session say': async () => (await import('./commands/session/say.ts')).SessionSayCommand,
  'session approve': async () => (await import('./commands/session/approve.ts')).SessionApproveCommand,
  'session reject': async () => (await import('./commands/session/approve.ts')).SessionRejectCommand,
  'session undo': async () => (await import('./commands/session/undo.ts')).SessionUndoCommand,
  'session view': async () => (await import('./commands/session/view.ts')).SessionViewCommand,
  'session rewind': async () => (await import('./commands/session/rewind.ts')).SessionRewindCommand,
  'session land': async () => (await import('./commands/session/land.ts')).SessionLandCommand,
  'session archive': async () => (await import('./commands/session/archive.ts')).SessionArchiveCommand,
  'session delete': async () => (await import('./commands/session/delete.ts')).SessionDeleteCommand,
  'session list': async () => (await import('./commands/session/list.ts')).SessionListCommand,
  'session log': async () => (await import('./commands/session/log.ts')).SessionLogCommand,
  'session search': async () => (await import('./commands/session/search.ts')).SessionSearchCommand,
  'session show': async () => (await import('./commands/session/show.ts')).SessionShowCommand,
  'session diff': async () => (await import('./commands/session/diff.ts')).SessionDiffCommand,
  'session review': async () => (await import('./commands/session/review.ts')).SessionReviewCommand,
  'session stats': async () => (await import('./commands/session/stats.ts')).SessionStatsCommand,
  'session context': async () => (await import('./commands/session/context.ts')).SessionContextCommand,
  'session context add': async () => (await import('./commands/session/context/edit.ts')).SessionContextAddCommand,
  'session context drop': async () => (await import('./commands/session/context/edit.ts')).SessionContextDropCommand,
  'session history': async () => (await import('./commands/session/history.ts')).SessionHistoryCommand,
  'session replay': async () => (await import('./commands/session/replay.ts')).SessionReplayCommand,
  'session verify': async () => (await import('./commands/session/verify.ts')).SessionVerifyCommand,
  'ci verify': async () => (await import('./commands/ci/verify.ts')).CiVerifyCommand,
  'session import': async () => (await import('./commands/session/import.ts')).SessionImportCommand,
  'capture drain': async () => (await import('./commands/capture/drain.ts')).CaptureDrainCommand,
  'capture gate': async () => (await import('./commands/capture/gate.ts')).CaptureGateCommand,
  'capture sweep': async () => (await import('./commands/capture/sweep.ts')).CaptureSweepCommand,
  'session export': async () => (await import('./commands/session/export.ts')).SessionExportCommand,
  'session open': async () => (await import('./commands/session/open.ts')).SessionOpenCommand,
  'session push': async () => (await import('./commands/session/push-pull.ts')).SessionPushCommand,
  'session pull': async () => (await import('./commands/session/push-pull.ts')).SessionPullCommand,
  'session sync': async () => (await import('./commands/session/sync.ts')).SessionSyncCommand,
  'memo list': async () => (await import('./commands/memo/list.ts')).MemoListCommand,
  'memo add': async () => (await import('./commands/memo/change.ts')).MemoAddCommand,
  'memo remove': async () => (await import('./commands/memo/change.ts')).MemoRemoveCommand,
  'global edit': async () => (await import('./commands/global/edit.ts')).GlobalEditCommand,
  'global trust': async () => (await import('./commands/global/trust.ts')).GlobalTrustCommand,
  'worktree remove': async () => (await import('./commands/worktree/remove.ts')).WorktreeRemoveCommand,
  'write ask': async () => (await import('./commands/write/ask.ts')).WriteAskCommand,
  'write stream': async () => (await import('./commands/write/stream.ts')).WriteStreamCommand,
  'write begin': async () => (await import('./commands/write/begin.ts')).WriteBeginCommand,
  'write append': async () => (await import('./commands/write/append.ts')).WriteAppendCommand,
  'write finalize': async () => (await import('./commands/write/finalize.ts')).WriteFinalizeCommand,
  'write list': async () => (await import('./commands/write/list.ts')).WriteListCommand,
  'write show': async () => (await import('./commands/write/show.ts')).WriteShowCommand,
  'write recover': async () => (await import('./commands/write/recover.ts')).WriteRecoverCommand,
  'write cancel': async () => (await import('./commands/write/cancel.ts')).WriteCancelCommand,
  serve: async () => (await import('./commands/serve.ts')).ServeCommand,
  mcp: async () => (await import('./commands/mcp.ts')).McpCommand,
  doctor: async () => (await import('./commands/doctor.ts')).DoctorCommand,
};

/** `teddy` without a word. */
const loadAlone = async () => (await import('./commands/status.ts')).TeddyAlone;

/** `teddy session plan`, ...: every command for people, by its whole name. */
const paths = Object.keys(commands).flatMap((path) => (internalCommands.includes(path) ? [] : [`teddy ${path}`]));

/** Runs the command line of `process`, with its streams and signals. Returns the exit code. */
export async function runCli(argv: string[]): Promise<number> {
  const context = toContext(argv);
  ignoreLostReaders();
  endWithTerminal();
  endWithReason(context);
  return runCommand(context);
}

/** Everything it needs from outside is in the context, so several can run in one process. */
export async function runCommand(context: CliContext): Promise<number> {
  // A shell asks for completions; the words that follow are those of another command.
  if (context.words[0] === 'complete')
    return (await import('./commands/completion.ts')).completeWords(context, await listDefinitions());
  const words = expandShortForm(askForHelp(normalizeArguments(context.words)));
  let command;
  try {
    if (asksForHelp(words)) return await printHelp(context, words);
    refuseRepeated(words);
    command = toCli(await loadNamed(words)).process(words, context);
  } catch (error) {
    const json = words.includes('--json');
    const told = toUsageError(error, words, { command: await findDefinition(words), paths });
    return renderError(openTerminal(context, 'auto'), told, { json, debug: false });
  }
  return (await command.validateAndExecute()) as number;
}

function toContext(argv: string[]): CliContext {
  const { env, stdin, stdout, stderr } = process;
  return {
    ...Cli.defaultContext,
    words: argv,
    env,
    stdin,
    stdout,
    stderr,
    signals: process,
    raise: (name) => void process.kill(process.pid, name),
    exit: (code) => process.exit(code),
    cwd: () => process.cwd(),
    main: process.argv[1] ?? '',
  };
}

function toCli(known: readonly Command[]): Cli<CliContext> {
  const cli = new Cli<CliContext>({ binaryLabel: 'teddy', binaryName: 'teddy', binaryVersion: version });
  for (const command of known) cli.register(command);
  return cli;
}

/** Every command for people with its own usage, as the help and the documents describe it. */
export async function listDefinitions(): Promise<Definition[]> {
  const internal = internalCommands.map((path) => `teddy ${path}`);
  return toCli(await loadAll())
    .definitions()
    .filter(({ path }) => !internal.includes(path));
}

async function loadAll(): Promise<Command[]> {
  return [...helpCommands, ...(await Promise.all([loadAlone, ...Object.values(commands)].map((load) => load())))];
}

/** The command that the words begin with, or else all: `teddy --json session list` does not begin with a name. */
async function loadNamed(words: readonly string[]): Promise<Command[]> {
  const load = words.length === 0 ? loadAlone : findNamed(words);
  return load === null ? loadAll() : [await load()];
}

/** The longer one is meant of `session context` and `session context add`. */
function findNamed(words: readonly string[]): (() => Promise<Command>) | null {
  const named = Object.entries(commands).filter(([path]) => path.split(' ').every((name, at) => words[at] === name));
  const [longest] = named.toSorted(([one], [other]) => other.length - one.length);
  return longest?.[1] ?? null;
}

/** `teddy help memo add`, as git has it, is `teddy memo add --help`. */
function askForHelp(words: string[]): string[] {
  return words[0] === 'help' && words.length > 1 ? [...words.slice(1), '--help'] : words;
}

/** The command that the first words name, as help describes it. */
async function findDefinition(words: readonly string[]): Promise<Definition | undefined> {
  const load = findNamed(words);
  return load === null ? undefined : toCli([await load()]).definitions()[0];
}

function asksForHelp(words: string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).some((word) => /^(?:-h|--help)(?:=|$)/.test(word));
}

async function printHelp(context: CliContext, words: readonly string[]): Promise<number> {
  const names = words.filter((word) => !word.startsWith('-'));
  const command = await findDefinition(names);
  const terminal = openTerminal(context, 'auto');
  const text = command === undefined ? findGroupHelp(names) : renderCommandHelp(command, terminal.style);
  if (text === null) throw toUnknownCommand(names, paths);
  terminal.print(text);
  return 0;
}

/**
 * `teddy session log | head -1` is not a failure, and neither is a closed window (EIO). Nothing ends here: `execute
 * -y | head -1` still has a report to write; only later output is lost.
 */
function ignoreLostReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}

/** An error of the system may arrive as an event that nobody waits for. Node would print a place in its own code. */
function endWithReason(context: CliContext): void {
  process.once('uncaughtException', (error) => {
    const options = { json: context.words.includes('--json'), debug: false };
    process.exit(renderError(openTerminal(context, 'auto'), error, options));
  });
}

/**
 * Node restores the mode of a terminal when it ends, and aborts with a core dump if the terminal is closed by then.
 * The signal that closing sends is how any other program ends there; by now all the work is done.
 */
function endWithTerminal(): void {
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  process.on('exit', () => {
    if (terminals.every((descriptor) => isatty(descriptor))) return;
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  });
}
