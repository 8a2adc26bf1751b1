/** From argv to an exit code: finds the command, or says why there is none. */
import { Cli, type CommandClass, type Definition } from 'clipanion';
import { version } from '../../package.json';
import { TeddyError } from '../errors.ts';
import { normalizeArguments } from './arguments.ts';
import { renderCommandHelp } from './command-help.ts';
import { ConfigCommand } from './config.ts';
import { GlobalEditCommand, MemoEditCommand } from './global-edit.ts';
import { GlobalRemoveCommand } from './global-remove.ts';
import { GlobalTrustCommand } from './global-trust.ts';
import { InitCommand } from './init.ts';
import { GlobalHelp, globalSummary, MemoHelp, memoSummary, NamespaceHelp, RootHelp, summary } from './help.ts';
import { MemoAddCommand } from './memo-add.ts';
import { MemoListCommand } from './memo-list.ts';
import { MemoRemoveCommand } from './memo-remove.ts';
import { renderError } from './render-error.ts';
import { SessionBranchCommand } from './session-branch.ts';
import { SessionContextCommand } from './session-context.ts';
import { SessionExecuteCommand } from './session-execute.ts';
import { SessionListCommand } from './session-list.ts';
import { SessionLogCommand } from './session-log.ts';
import { SessionNewCommand } from './session-new.ts';
import { SessionPlanCommand } from './session-plan.ts';
import { SessionShowCommand } from './session-show.ts';
import { openTerminal } from './terminal.ts';

const commands: CommandClass[] = [
  RootHelp,
  NamespaceHelp,
  MemoHelp,
  GlobalHelp,
  InitCommand,
  ConfigCommand,
  SessionNewCommand,
  SessionPlanCommand,
  SessionExecuteCommand,
  SessionBranchCommand,
  SessionListCommand,
  SessionLogCommand,
  SessionShowCommand,
  SessionContextCommand,
  MemoListCommand,
  MemoAddCommand,
  MemoRemoveCommand,
  MemoEditCommand,
  GlobalEditCommand,
  GlobalRemoveCommand,
  GlobalTrustCommand,
];

export async function runCli(argv: string[]): Promise<number> {
  ignoreBrokenPipes();
  const cli = new Cli({ binaryLabel: 'teddy', binaryName: 'teddy', binaryVersion: version });
  for (const command of commands) cli.register(command);
  const words = normalizeArguments(argv);
  const asked = findDefinition(cli, words);
  let command;
  try {
    if (asksForHelp(words)) return printHelp(asked, words);
    command = cli.process(words, Cli.defaultContext);
  } catch (error) {
    const json = words.includes('--json');
    return renderError(openTerminal(process.env, 'auto'), toUsageError(error, words, asked), { json, debug: false });
  }
  return (await command.validateAndExecute()) as number;
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
]);

function printHelp(command: Definition | undefined, words: string[]): number {
  const terminal = openTerminal(process.env, 'auto');
  const named = words.filter((word) => !word.startsWith('-')).join(' ');
  if (command !== undefined) terminal.print(renderCommandHelp(command, terminal.style));
  else if (namespaces.has(named)) terminal.print(namespaces.get(named) ?? summary);
  else throw toUnknownCommand(words);
  return 0;
}

/** clipanion's own words for wrong usage name neither what was given nor what is missing in a way a person would. */
function toUsageError(error: unknown, words: string[], command: Definition | undefined): unknown {
  if (!(error instanceof Error) || !['UsageError', 'UnknownSyntaxError', 'AmbiguousSyntaxError'].includes(error.name))
    return error;
  if (command === undefined) return toUnknownCommand(words);
  return new TeddyError('USAGE', toReason(error, command), `See what it takes: \`${command.path} --help\`.`);
}

function toUnknownCommand(words: string[]): TeddyError {
  const name = ['teddy', ...words.slice(0, namespaces.has(words[0] ?? '') ? 2 : 1)].join(' ');
  const isOption = words[0]?.startsWith('-') === true;
  const what = isOption ? `There is no option ${words[0]}.` : `There is no command \`${name}\`.`;
  return new TeddyError('USAGE', what, 'See what there is: `teddy --help`.');
}

function toReason(error: Error, { path, usage }: Definition): string {
  const candidates = 'candidates' in error ? (error.candidates as { reason: string | null }[]) : [];
  const reason = candidates.find((candidate) => candidate.reason !== null)?.reason ?? error.message;
  const named = /\("(.*?)"(?:, .*)?\)/s.exec(reason)?.[1] ?? '';
  const option = named.replace(/=.*/s, '');
  if (reason.includes('Unsupported option name')) return `\`${path}\` has no option ${option}.`;
  if (reason.includes('Invalid option name')) return `\`${path}\` has no option ${option} that takes a value.`;
  if (reason.includes('Extraneous positional argument')) return `\`${path}\` does not take ${JSON.stringify(named)}.`;
  if (reason.includes('Not enough positional arguments')) return `Something is missing: \`${usage}\`.`;
  const bare = /Not enough arguments to option (\S+?)\.?\s*$/m.exec(reason)?.[1];
  return bare === undefined ? `\`${path}\` does not understand its arguments.` : `${bare} needs a value.`;
}

/**
 * `teddy session log | head -1` is no failure. Nothing ends here: `execute -y | head -1` still has a report to write, and
 * what is printed from now on is nobody's.
 */
function ignoreBrokenPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}
