/** Finds the command that argv names, or says why there is none. */
import { isatty } from 'node:tty';
import { Cli, type CommandClass, type Definition } from 'clipanion';
import { version } from '../../package.json';
import { expandShortForm, normalizeArguments, refuseRepeated } from './arguments.ts';
import { renderCommandHelp } from './command-help.ts';
import type { CliContext } from './context.ts';
import { BlameCommand, WhyCommand } from './commands/blame.ts';
import { CaptureInstallCommand } from './commands/capture/install.ts';
import { CaptureGateCommand } from './commands/capture/gate.ts';
import { CapturePauseCommand, CaptureResumeCommand } from './commands/capture/pause.ts';
import { CaptureStatusCommand } from './commands/capture/status.ts';
import { CaptureUninstallCommand } from './commands/capture/uninstall.ts';
import { CompletionCommand, completeWords } from './commands/completion.ts';
import { ConfigCommand } from './commands/config.ts';
import { DoctorCommand } from './commands/doctor.ts';
import { GlobalEditCommand, MemoEditCommand } from './commands/global/edit.ts';
import { GlobalRemoveCommand } from './commands/global/remove.ts';
import { GlobalTrustCommand } from './commands/global/trust.ts';
import { HookCommand } from './commands/hook.ts';
import { HooksInstallCommand } from './commands/hooks/install.ts';
import { HooksStatusCommand } from './commands/hooks/status.ts';
import { HooksUninstallCommand } from './commands/hooks/uninstall.ts';
import { InitCommand } from './commands/init.ts';
import { findGroupHelp, helpCommands } from './commands/help.ts';
import { McpCommand } from './commands/mcp.ts';
import { MemoAddCommand } from './commands/memo/add.ts';
import { MemoListCommand } from './commands/memo/list.ts';
import { MemoRemoveCommand } from './commands/memo/remove.ts';
import { ModelsCommand, ModelsUpdateCommand } from './commands/models.ts';
import { renderError } from './render/error.ts';
import { ServeCommand } from './commands/serve.ts';
import { SessionArchiveCommand } from './commands/session/archive.ts';
import { SessionBranchCommand } from './commands/session/branch.ts';
import { SessionChatCommand } from './commands/session/chat.ts';
import { SessionContextCommand } from './commands/session/context.ts';
import { SessionContextAddCommand, SessionContextDropCommand } from './commands/session/context/edit.ts';
import { SessionCostCommand } from './commands/session/cost.ts';
import { SessionDeleteCommand } from './commands/session/delete.ts';
import { SessionDiffCommand } from './commands/session/diff.ts';
import { SessionExecuteCommand } from './commands/session/execute.ts';
import { SessionExportCommand } from './commands/session/export.ts';
import { SessionOpenCommand } from './commands/session/open.ts';
import { SessionHistoryCommand } from './commands/session/history.ts';
import { CaptureDrainCommand } from './commands/capture/drain.ts';
import { CaptureSweepCommand } from './commands/capture/sweep.ts';
import { SessionImportCommand } from './commands/session/import.ts';
import { SessionLandCommand } from './commands/session/land.ts';
import { SessionListCommand } from './commands/session/list.ts';
import { SessionLogCommand } from './commands/session/log.ts';
import { SessionNewCommand } from './commands/session/new.ts';
import { SessionPlanCommand } from './commands/session/plan.ts';
import { SessionPullCommand } from './commands/session/pull.ts';
import { SessionPushCommand } from './commands/session/push.ts';
import { SessionReplayCommand } from './commands/session/replay.ts';
import { SessionRestoreCommand } from './commands/session/restore.ts';
import { SessionResumeCommand } from './commands/session/resume.ts';
import { SessionReviewCommand } from './commands/session/review.ts';
import { SessionVerifyCommand } from './commands/session/verify.ts';
import { SessionSayCommand } from './commands/session/say.ts';
import { SessionSearchCommand } from './commands/session/search.ts';
import { SessionShowCommand } from './commands/session/show.ts';
import { SessionStatsCommand } from './commands/session/stats.ts';
import { SessionSwitchCommand } from './commands/session/switch.ts';
import { SessionSyncCommand } from './commands/session/sync.ts';
import { SessionApproveCommand, SessionRejectCommand } from './commands/session/approve.ts';
import { SessionUndoCommand } from './commands/session/undo.ts';
import { SessionViewCommand } from './commands/session/view.ts';
import { StatusCommand, TeddyAlone } from './commands/status.ts';
import { openTerminal } from './terminal.ts';
import { toUnknownCommand, toUsageError } from './usage-error.ts';
import { WriteAppendCommand } from './commands/write/append.ts';
import { WriteBeginCommand } from './commands/write/begin.ts';
import { WriteCancelCommand } from './commands/write/cancel.ts';
import { WriteCleanCommand } from './commands/write/clean.ts';
import { WriteFinalizeCommand } from './commands/write/finalize.ts';
import { WriteListCommand } from './commands/write/list.ts';
import { WriteRecoverCommand } from './commands/write/recover.ts';
import { WriteShowCommand } from './commands/write/show.ts';
import { WriteStatusCommand } from './commands/write/status.ts';
import { WriteStreamCommand } from './commands/write/stream.ts';
import { WorktreeListCommand } from './commands/worktree/list.ts';
import { WorktreeRemoveCommand } from './commands/worktree/remove.ts';
import { WriteAskCommand } from './commands/write/ask.ts';

const commands: CommandClass<CliContext>[] = [
  ...helpCommands,
  TeddyAlone,
  StatusCommand,
  HookCommand,
  HooksInstallCommand,
  HooksUninstallCommand,
  HooksStatusCommand,
  CaptureInstallCommand,
  CaptureUninstallCommand,
  CaptureStatusCommand,
  CapturePauseCommand,
  CaptureResumeCommand,
  WhyCommand,
  BlameCommand,
  InitCommand,
  ConfigCommand,
  // The longer name first: each also begins with the shorter one.
  ModelsUpdateCommand,
  ModelsCommand,
  CompletionCommand,
  SessionNewCommand,
  SessionPlanCommand,
  SessionChatCommand,
  SessionExecuteCommand,
  SessionResumeCommand,
  SessionSwitchCommand,
  SessionBranchCommand,
  SessionSayCommand,
  SessionApproveCommand,
  SessionRejectCommand,
  SessionUndoCommand,
  SessionViewCommand,
  SessionRestoreCommand,
  SessionLandCommand,
  SessionArchiveCommand,
  SessionDeleteCommand,
  SessionListCommand,
  SessionLogCommand,
  SessionSearchCommand,
  SessionShowCommand,
  SessionDiffCommand,
  SessionReviewCommand,
  SessionCostCommand,
  SessionStatsCommand,
  SessionContextCommand,
  SessionContextAddCommand,
  SessionContextDropCommand,
  SessionHistoryCommand,
  SessionReplayCommand,
  SessionVerifyCommand,
  SessionImportCommand,
  CaptureDrainCommand,
  CaptureGateCommand,
  CaptureSweepCommand,
  SessionExportCommand,
  SessionOpenCommand,
  SessionPushCommand,
  SessionPullCommand,
  SessionSyncCommand,
  MemoListCommand,
  MemoAddCommand,
  MemoRemoveCommand,
  MemoEditCommand,
  GlobalEditCommand,
  GlobalRemoveCommand,
  GlobalTrustCommand,
  WorktreeListCommand,
  WorktreeRemoveCommand,
  WriteAskCommand,
  WriteStreamCommand,
  WriteBeginCommand,
  WriteAppendCommand,
  WriteFinalizeCommand,
  WriteStatusCommand,
  WriteListCommand,
  WriteShowCommand,
  WriteRecoverCommand,
  WriteCancelCommand,
  WriteCleanCommand,
  ServeCommand,
  McpCommand,
  DoctorCommand,
];

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
  if (context.words[0] === 'complete') return completeWords(context, toCli(commands).definitions());
  const words = expandShortForm(askForHelp(normalizeArguments(context.words)));
  let command;
  try {
    if (asksForHelp(words)) return printHelp(context, toCli(commands), words);
    refuseRepeated(words);
    command = toCli(findNamed(words)).process(words, context);
  } catch (error) {
    const json = words.includes('--json');
    const all = toCli(commands);
    const told = toUsageError(error, words, { command: findDefinition(all, words), paths: pathsOf(all) });
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

function toCli(known: CommandClass<CliContext>[]): Cli<CliContext> {
  const cli = new Cli<CliContext>({ binaryLabel: 'teddy', binaryName: 'teddy', binaryVersion: version });
  for (const command of known) cli.register(command);
  return cli;
}

/** Every command with its own usage, as the help and the documents describe it. */
export function listDefinitions(): Definition[] {
  return toCli(commands).definitions();
}

/** The command that the words begin with, or else all: preparing all of them takes longer than running some of them. */
function findNamed(words: string[]): CommandClass<CliContext>[] {
  const isNamed = (path: string[]) => path.length > 0 && path.every((name, at) => words[at] === name);
  // A command without its own usage is the help of a group, and `teddy --json session list` does not begin with a
  // name. Of `session context` and `session context add`, the longer one is meant.
  const lengthOf = ({ paths = [] }: CommandClass<CliContext>) =>
    Math.max(0, ...paths.filter(isNamed).map((path) => path.length));
  const [only] = commands
    .filter((command) => command.usage !== undefined && lengthOf(command) > 0)
    .toSorted((a, b) => lengthOf(b) - lengthOf(a));
  return only === undefined ? commands : [only];
}

/** `teddy help memo add`, as git has it, is `teddy memo add --help`. */
function askForHelp(words: string[]): string[] {
  return words[0] === 'help' && words.length > 1 ? [...words.slice(1), '--help'] : words;
}

/** `teddy session plan`, ...: every command by its whole name. */
function pathsOf(cli: Cli<CliContext>): string[] {
  return cli.definitions().map(({ path }) => path);
}

/** The command that the first words name, as help describes it. */
function findDefinition(cli: Cli<CliContext>, words: string[]): Definition | undefined {
  const named = cli.definitions().filter(({ path }) => {
    const names = path.split(' ').slice(1);
    return names.every((name, at) => words[at] === name);
  });
  return named.toSorted((a, b) => b.path.length - a.path.length)[0];
}

function asksForHelp(words: string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).some((word) => /^(?:-h|--help)(?:=|$)/.test(word));
}

function printHelp(context: CliContext, cli: Cli<CliContext>, words: string[]): number {
  const names = words.filter((word) => !word.startsWith('-'));
  const command = findDefinition(cli, names);
  const terminal = openTerminal(context, 'auto');
  const text = command === undefined ? findGroupHelp(names) : renderCommandHelp(command, terminal.style);
  if (text === null) throw toUnknownCommand(names, pathsOf(cli));
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
