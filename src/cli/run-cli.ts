/** From argv to an exit code: finds the command, or says why there is none. */
import { isatty } from 'node:tty';
import { Cli, type CommandClass, type Definition } from 'clipanion';
import { version } from '../../package.json';
import { normalizeArguments, refuseRepeated } from './arguments.ts';
import { renderCommandHelp } from './command-help.ts';
import { ConfigCommand } from './config.ts';
import { DoctorCommand } from './doctor.ts';
import { GlobalEditCommand, MemoEditCommand } from './global-edit.ts';
import { GlobalRemoveCommand } from './global-remove.ts';
import { GlobalTrustCommand } from './global-trust.ts';
import { HookCommand } from './hook.ts';
import { HooksInstallCommand } from './hooks-install.ts';
import { HooksStatusCommand } from './hooks-status.ts';
import { HooksUninstallCommand } from './hooks-uninstall.ts';
import { InitCommand } from './init.ts';
import {
  GlobalHelp,
  globalSummary,
  HooksHelp,
  hooksSummary,
  MemoHelp,
  memoSummary,
  NamespaceHelp,
  RootHelp,
  summary,
  WorktreeHelp,
  worktreeSummary,
  WriteHelp,
  writeSummary,
} from './help.ts';
import { MemoAddCommand } from './memo-add.ts';
import { MemoListCommand } from './memo-list.ts';
import { MemoRemoveCommand } from './memo-remove.ts';
import { renderError } from './render-error.ts';
import { ServeCommand } from './serve.ts';
import { SessionArchiveCommand } from './session-archive.ts';
import { SessionBranchCommand } from './session-branch.ts';
import { SessionChatCommand } from './session-chat.ts';
import { SessionContextCommand } from './session-context.ts';
import { SessionCostCommand } from './session-cost.ts';
import { SessionDiffCommand } from './session-diff.ts';
import { SessionExecuteCommand } from './session-execute.ts';
import { SessionExportCommand } from './session-export.ts';
import { SessionHistoryCommand } from './session-history.ts';
import { SessionImportCommand } from './session-import.ts';
import { SessionLandCommand } from './session-land.ts';
import { SessionListCommand } from './session-list.ts';
import { SessionLogCommand } from './session-log.ts';
import { SessionNewCommand } from './session-new.ts';
import { SessionPlanCommand } from './session-plan.ts';
import { SessionPullCommand } from './session-pull.ts';
import { SessionPushCommand } from './session-push.ts';
import { SessionReplayCommand } from './session-replay.ts';
import { SessionRestoreCommand } from './session-restore.ts';
import { SessionResumeCommand } from './session-resume.ts';
import { SessionReviewCommand } from './session-review.ts';
import { SessionVerifyCommand } from './session-verify.ts';
import { SessionSayCommand } from './session-say.ts';
import { SessionShowCommand } from './session-show.ts';
import { SessionSyncCommand } from './session-sync.ts';
import { SessionUndoCommand } from './session-undo.ts';
import { StatusCommand, TeddyAlone } from './status.ts';
import { openTerminal } from './terminal.ts';
import { toUnknownCommand, toUsageError } from './usage-error.ts';
import { WriteAppendCommand } from './write-append.ts';
import { WriteBeginCommand } from './write-begin.ts';
import { WriteCancelCommand } from './write-cancel.ts';
import { WriteCleanCommand } from './write-clean.ts';
import { WriteFinalizeCommand } from './write-finalize.ts';
import { WriteListCommand } from './write-list.ts';
import { WriteRecoverCommand } from './write-recover.ts';
import { WriteShowCommand } from './write-show.ts';
import { WriteStatusCommand } from './write-status.ts';
import { WriteStreamCommand } from './write-stream.ts';
import { WorktreeListCommand } from './worktree-list.ts';
import { WorktreeRemoveCommand } from './worktree-remove.ts';
import { WriteAskCommand } from './write-ask.ts';

const commands: CommandClass[] = [
  RootHelp,
  TeddyAlone,
  StatusCommand,
  NamespaceHelp,
  MemoHelp,
  GlobalHelp,
  WorktreeHelp,
  WriteHelp,
  HooksHelp,
  HookCommand,
  HooksInstallCommand,
  HooksUninstallCommand,
  HooksStatusCommand,
  InitCommand,
  ConfigCommand,
  SessionNewCommand,
  SessionPlanCommand,
  SessionChatCommand,
  SessionExecuteCommand,
  SessionResumeCommand,
  SessionBranchCommand,
  SessionSayCommand,
  SessionUndoCommand,
  SessionRestoreCommand,
  SessionLandCommand,
  SessionArchiveCommand,
  SessionListCommand,
  SessionLogCommand,
  SessionShowCommand,
  SessionDiffCommand,
  SessionReviewCommand,
  SessionCostCommand,
  SessionContextCommand,
  SessionHistoryCommand,
  SessionReplayCommand,
  SessionVerifyCommand,
  SessionImportCommand,
  SessionExportCommand,
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
  DoctorCommand,
];

export async function runCli(argv: string[]): Promise<number> {
  ignoreLostReaders();
  endWithTerminal();
  endWithReason(argv);
  const words = askForHelp(normalizeArguments(argv));
  let command;
  try {
    if (asksForHelp(words)) return printHelp(toCli(commands), words);
    refuseRepeated(words);
    command = toCli(findNamed(words)).process(words, Cli.defaultContext);
  } catch (error) {
    const json = words.includes('--json');
    const all = toCli(commands);
    const told = toUsageError(error, words, { command: findDefinition(all, words), paths: pathsOf(all) });
    return renderError(openTerminal(process.env, 'auto'), told, { json, debug: false });
  }
  return (await command.validateAndExecute()) as number;
}

function toCli(known: CommandClass[]): Cli {
  const cli = new Cli({ binaryLabel: 'teddy', binaryName: 'teddy', binaryVersion: version });
  for (const command of known) cli.register(command);
  return cli;
}

/** The command that the words begin with, else all: to prepare them all takes longer than some commands do. */
function findNamed(words: string[]): CommandClass[] {
  const isNamed = (path: string[]) => path.length > 0 && path.every((name, at) => words[at] === name);
  const named = commands.filter(({ paths = [] }) => paths.some(isNamed));
  // What has no usage of its own is a family's help, and `teddy --json session list` begins with no name at all.
  const [only] = named.filter(({ usage }) => usage !== undefined);
  return only === undefined ? commands : [only];
}

/** `teddy help memo add`, as git has it, is `teddy memo add --help`. */
function askForHelp(words: string[]): string[] {
  return words[0] === 'help' && words.length > 1 ? [...words.slice(1), '--help'] : words;
}

/** `teddy session plan`, ...: every command by its whole name. */
function pathsOf(cli: Cli): string[] {
  return cli.definitions().map(({ path }) => path);
}

/** The command that the first words name, as help describes it. */
function findDefinition(cli: Cli, words: string[]): Definition | undefined {
  return cli.definitions().find(({ path }) => {
    const names = path.split(' ').slice(1);
    return names.every((name, at) => words[at] === name);
  });
}

function asksForHelp(words: string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).some((word) => /^(?:-h|--help)(?:=|$)/.test(word));
}

const namespaces = new Map([
  ['', summary],
  ['help', summary],
  ['session', summary],
  ['memo', memoSummary],
  ['global', globalSummary],
  ['worktree', worktreeSummary],
  ['write', writeSummary],
  ['hooks', hooksSummary],
]);

function printHelp(cli: Cli, words: string[]): number {
  const command = findDefinition(cli, words);
  const terminal = openTerminal(process.env, 'auto');
  const named = words.filter((word) => !word.startsWith('-')).join(' ');
  if (command !== undefined) terminal.print(renderCommandHelp(command, terminal.style));
  else if (namespaces.has(named)) terminal.print(namespaces.get(named) ?? summary);
  else throw toUnknownCommand(words, pathsOf(cli));
  return 0;
}

/**
 * `teddy session log | head -1` is no failure, nor is a window that was closed (EIO). Nothing ends here: `execute -y | head -1`
 * still has a report to write, and what is printed from now on is nobody's.
 */
function ignoreLostReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}

/** What the system refuses may come as an event that nobody waits for. Node would print where in its own code that was. */
function endWithReason(argv: readonly string[]): void {
  process.once('uncaughtException', (error) => {
    const options = { json: argv.includes('--json'), debug: false };
    process.exit(renderError(openTerminal(process.env, 'auto'), error, options));
  });
}

/**
 * Node gives a terminal its old mode back when it ends, and aborts with a core dump where the terminal is closed by then. The
 * signal that closing it sends is how any other program ends there; by now all the work is done.
 */
function endWithTerminal(): void {
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  process.on('exit', () => {
    if (terminals.every((descriptor) => isatty(descriptor))) return;
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  });
}
