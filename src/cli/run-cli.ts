/** Finds the command that argv names, or explains why there is none. */
import { isatty } from 'node:tty';
import { Cli, type CommandClass } from 'clipanion';
import { version } from '../../package.json';
import { toShortForm, internalCommands } from './arguments.ts';
import { helpWidth, renderCommandHelp } from './command-help.ts';
import type { CliContext } from './context.ts';
import { renderError } from './render/error.ts';
import { openTerminal } from './terminal.ts';
import type { CommandPage } from './command-page.ts';
import { readSpecs } from './option.ts';
import { readWords, toUnknownCommand } from './command-line.ts';

type Command = CommandClass<CliContext>;

/**
 * The commands of a session, by the words that call them; `teddy session land` is the long form of `teddy land`. A
 * process loads only the command that it runs, because setting up every command's code takes longer than most of them
 * run.
 */
const sessionCommands: Record<string, () => Promise<Command>> = {
  new: async () => (await import('./commands/session/new.ts')).SessionNewCommand,
  plan: async () => (await import('./commands/session/plan.ts')).SessionPlanCommand,
  ask: async () => (await import('./commands/session/plan.ts')).SessionAskCommand,
  chat: async () => (await import('./commands/session/chat.ts')).SessionChatCommand,
  execute: async () => (await import('./commands/session/execute.ts')).SessionExecuteCommand,
  resume: async () => (await import('./commands/session/resume.ts')).SessionResumeCommand,
  branch: async () => (await import('./commands/session/branch.ts')).SessionBranchCommand,
  say: async () => (await import('./commands/session/say.ts')).SessionSayCommand,
  approve: async () => (await import('./commands/session/approve.ts')).SessionApproveCommand,
  reject: async () => (await import('./commands/session/approve.ts')).SessionRejectCommand,
  undo: async () => (await import('./commands/session/undo.ts')).SessionUndoCommand,
  view: async () => (await import('./commands/session/view.ts')).SessionViewCommand,
  rewind: async () => (await import('./commands/session/rewind.ts')).SessionRewindCommand,
  land: async () => (await import('./commands/session/land.ts')).SessionLandCommand,
  archive: async () => (await import('./commands/session/archive.ts')).SessionArchiveCommand,
  delete: async () => (await import('./commands/session/delete.ts')).SessionDeleteCommand,
  list: async () => (await import('./commands/session/list.ts')).SessionListCommand,
  log: async () => (await import('./commands/session/log.ts')).SessionLogCommand,
  search: async () => (await import('./commands/session/search.ts')).SessionSearchCommand,
  show: async () => (await import('./commands/session/show.ts')).SessionShowCommand,
  diff: async () => (await import('./commands/session/diff.ts')).SessionDiffCommand,
  review: async () => (await import('./commands/session/review.ts')).SessionReviewCommand,
  stats: async () => (await import('./commands/session/stats.ts')).SessionStatsCommand,
  context: async () => (await import('./commands/session/context.ts')).SessionContextCommand,
  'context add': async () => (await import('./commands/session/context/edit.ts')).SessionContextAddCommand,
  'context drop': async () => (await import('./commands/session/context/edit.ts')).SessionContextDropCommand,
  history: async () => (await import('./commands/session/history.ts')).SessionHistoryCommand,
  replay: async () => (await import('./commands/session/replay.ts')).SessionReplayCommand,
  verify: async () => (await import('./commands/session/verify.ts')).SessionVerifyCommand,
  import: async () => (await import('./commands/session/import.ts')).SessionImportCommand,
  export: async () => (await import('./commands/session/export.ts')).SessionExportCommand,
  push: async () => (await import('./commands/session/push-pull.ts')).SessionPushCommand,
  pull: async () => (await import('./commands/session/push-pull.ts')).SessionPullCommand,
  sync: async () => (await import('./commands/session/sync.ts')).SessionSyncCommand,
};

const commands: Record<string, () => Promise<Command>> = {
  ...sessionCommands,
  status: async () => (await import('./commands/status.ts')).StatusCommand,
  hook: async () => (await import('./commands/hook.ts')).HookCommand,
  'hooks install': async () => (await import('./commands/hooks/install.ts')).HooksInstallCommand,
  'hooks uninstall': async () => (await import('./commands/hooks/install.ts')).HooksUninstallCommand,
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
  'ci carry': async () => (await import('./commands/ci/carry.ts')).CiCarryCommand,
  'ci comment': async () => (await import('./commands/ci/comment.ts')).CiCommentCommand,
  'ci verify': async () => (await import('./commands/ci/verify.ts')).CiVerifyCommand,
  'capture drain': async () => (await import('./commands/capture/drain.ts')).CaptureDrainCommand,
  'capture gate': async () => (await import('./commands/capture/gate.ts')).CaptureGateCommand,
  'capture sweep': async () => (await import('./commands/capture/sweep.ts')).CaptureSweepCommand,
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
  demo: async () => (await import('./commands/demo.ts')).DemoCommand,
  help: async () => (await import('./commands/help.ts')).HelpCommand,
};

/** Loads `teddy` without a command. */
const loadAlone = async () => (await import('./commands/status.ts')).BareTeddyCommand;

/** The full name of every command for users, such as `teddy plan`. */
const paths = Object.keys(commands).flatMap((path) => (internalCommands.includes(path) ? [] : [`teddy ${path}`]));

/** Runs the command line of `process`, with its streams and signals. Returns the exit code. */
export async function runCli(argv: string[]): Promise<number> {
  const context = toContext(argv);
  ignoreLostReaders();
  endWithTerminal();
  endWithReason(context);
  return runCommand(context);
}

/** Runs a command. The context contains everything from outside, so that several commands can run in one process. */
export async function runCommand(context: CliContext): Promise<number> {
  // A shell asks for completions; the words that follow belong to another command.
  if (context.words[0] === 'complete')
    return (await import('./commands/completion.ts')).completeWords(context, await listCommands());
  const words = await toCommandFirst(askForHelp([...context.words]));
  let command;
  try {
    const load = (await isAlone(words)) ? loadAlone : findNamed(words);
    if (load === null) return await printGroupHelp(context, words);
    const loaded = await load();
    const page = describe(loaded);
    const read = page === null ? words : readWords(page, words);
    if (page !== null && read.some(asksForHelp)) {
      const terminal = openTerminal(context, 'auto');
      terminal.print(renderCommandHelp(page, terminal.style, helpWidth(terminal)));
      return 0;
    }
    command = toCli([loaded]).process(read, { ...context, help: (name, width) => findText(context, name, width) });
  } catch (error) {
    const json = words.includes('--json');
    return renderError(openTerminal(context, 'auto'), error, { json, debug: false });
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

/** Returns true for `teddy` and `teddy --json`. */
async function isAlone(words: readonly string[]): Promise<boolean> {
  if (words.length === 0) return true;
  if (words.some((word) => !word.startsWith('-'))) return false;
  const names = readSpecs(await loadAlone()).options.flatMap((one) => one.names);
  return words.every((word) => names.includes(word.replace(/=.*/s, '')));
}

/** Returns null for `teddy` alone. */
function describe(command: Command): CommandPage | null {
  const [definition] = toCli([command]).definitions();
  return definition === undefined
    ? null
    : { ...definition, ...readSpecs(command), group: findGroup(definition.path.split(' ').slice(1)) };
}

/** Returns the group whose help lists the command; empty when none does. */
function findGroup(words: readonly string[]): string {
  const [first = ''] = words;
  if (sessionCommands[first] !== undefined) return 'session';
  return words.length > 1 && commands[first] === undefined ? first : '';
}

/** Returns every command for users, as help and the documents describe it. */
export async function listCommands(): Promise<CommandPage[]> {
  const loaded = await Promise.all(Object.keys(commands).map(loadCommand));
  const internal = internalCommands.map((path) => `teddy ${path}`);
  return loaded.flatMap((command) => describe(command) ?? []).filter(({ path }) => !internal.includes(path));
}

/** Finds the command and puts its full name first, because options may precede it: `teddy --json list`. */
async function toCommandFirst(words: readonly string[]): Promise<string[]> {
  if (words[0]?.startsWith('-') !== true) return toShortForm(words);
  const options = (await listCommands()).flatMap((page) => page.options);
  let at = 0;
  while (words[at]?.startsWith('-') === true && words[at] !== '--') {
    const takesNext = options.some(({ names, value }) => value?.startsWith('<') && names.includes(words[at] ?? ''));
    at += takesNext ? 2 : 1;
  }
  const [first, ...rest] = [words.slice(at), words.slice(0, at)];
  const whole = toShortForm(first);
  const length = findPath(whole)?.split(' ').length ?? whole.length;
  return [...whole.slice(0, length), ...rest.flat(), ...whole.slice(length)];
}

function findNamed(words: readonly string[]): (() => Promise<Command>) | null {
  const path = findPath(words);
  return path === null ? null : () => loadCommand(path);
}

/** Loads a path's command; only the table of paths contains the command's words. */
async function loadCommand(path: string): Promise<Command> {
  const load = commands[path];
  if (load === undefined) throw new Error(`The command ${path} does not exist.`);
  return Object.assign(await load(), { paths: [path.split(' ')] });
}

/** Prefers the longer of two paths such as `context` and `context add`. */
function findPath(words: readonly string[]): string | null {
  const named = Object.keys(commands).filter((path) => path.split(' ').every((name, at) => words[at] === name));
  return named.toSorted((one, other) => other.length - one.length)[0] ?? null;
}

/** Turns `teddy help memo add`, which follows git, and `teddy memo --help add` into `teddy memo add --help`. */
function askForHelp(words: string[]): string[] {
  const [first = '', second = '', ...rest] = words;
  if (first === 'help' && isCommand(words.slice(1))) return [...words.slice(1), '--help'];
  if (words.length === 1 && asksForHelp(first)) return ['help'];
  const isGroup = commands[first] === undefined && rest.length > 0 && asksForHelp(second);
  return isGroup ? [first, ...rest, second] : words;
}

function isCommand(words: readonly string[]): boolean {
  const short = toShortForm(words.filter((word) => !word.startsWith('-')));
  return findPath(short)?.split(' ').length === short.length;
}

function asksForHelp(word: string): boolean {
  return word === '-h' || word === '--help';
}

/** Finds the text of `teddy help`. Throws USAGE when there is none. */
async function findText({ main }: CliContext, words: readonly string[], width: number): Promise<string> {
  const { findHelp } = await import('./commands/help.ts');
  const text = await findHelp(words, { listCommands, main, width });
  if (text === null) throw toUnknownCommand(words, paths);
  return text;
}

/** Prints the commands of a group: `teddy session`, `teddy --help memo`. Throws USAGE for any other words. */
async function printGroupHelp(context: CliContext, words: readonly string[]): Promise<number> {
  const { findGroupHelp } = await import('./commands/help.ts');
  const names = words.filter((word) => !asksForHelp(word));
  const terminal = openTerminal(context, 'auto');
  const text = await findGroupHelp(names, { listCommands, width: helpWidth(terminal) });
  const typed = context.words[0] === 'session' ? 'teddy session' : 'teddy';
  if (text === null) throw toUnknownCommand(names, paths, typed);
  terminal.print(text);
  return 0;
}

/**
 * Ignores lost readers: `teddy log | head -1` is not a failure, and neither is a closed window (EIO). The
 * process continues, because `execute -y | head -1` still has a report to write; only later output is lost.
 */
function ignoreLostReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}

/** Handles a system error that arrives as an event without a listener, for which Node would print a place in its own code. */
function endWithReason(context: CliContext): void {
  process.once('uncaughtException', (error) => {
    const options = { json: context.words.includes('--json'), debug: false };
    process.exit(renderError(openTerminal(context, 'auto'), error, options));
  });
}

/**
 * When Node exits, it restores the terminal's mode, and aborts with a core dump if the terminal is closed. At this
 * point all the work is done, so this exits by the signal that a closing terminal sends, as any other program does.
 */
function endWithTerminal(): void {
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  process.on('exit', () => {
    if (terminals.every((descriptor) => isatty(descriptor))) return;
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  });
}
