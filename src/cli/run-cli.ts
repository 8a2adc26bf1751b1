/** From argv to an exit code: finds the command, or says why there is none. */
import { Cli, type CommandClass } from 'clipanion';
import { version } from '../../package.json';
import { TeddyError } from '../errors.ts';
import { normalizeArguments } from './arguments.ts';
import { InitCommand } from './init.ts';
import { NamespaceHelp, RootHelp } from './help.ts';
import { renderError } from './render-error.ts';
import { SessionBranchCommand } from './session-branch.ts';
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
  InitCommand,
  SessionNewCommand,
  SessionPlanCommand,
  SessionExecuteCommand,
  SessionBranchCommand,
  SessionListCommand,
  SessionLogCommand,
  SessionShowCommand,
];

export async function runCli(argv: string[]): Promise<number> {
  ignoreBrokenPipes();
  const cli = openCli();
  const json = argv.includes('--json');
  let command;
  try {
    command = cli.process(normalizeArguments(argv), Cli.defaultContext);
  } catch (error) {
    return renderError(openTerminal(process.env, 'auto'), toUsageError(error, argv), { json, debug: false });
  }
  if (command.help) {
    process.stdout.write(cli.usage(command, { detailed: true }));
    return 0;
  }
  return (await command.validateAndExecute()) as number;
}

/** Help is plain where nobody sees colours: clipanion would colour it in a pipe as well. */
function openCli(): Cli {
  const enableColors = process.stdout.isTTY === true && !process.env['NO_COLOR'];
  const cli = new Cli({ binaryLabel: 'teddy', binaryName: 'teddy', binaryVersion: version, enableColors });
  for (const command of commands) cli.register(command);
  return cli;
}

function toUsageError(error: unknown, argv: string[]): unknown {
  if (!(error instanceof Error) || !['UsageError', 'UnknownSyntaxError', 'AmbiguousSyntaxError'].includes(error.name))
    return error;
  const said = error.message.split('\n')[0]?.replace(/ \(.*$/, '') ?? '';
  const path =
    argv[0] === 'session' ? `teddy session ${argv[1]?.startsWith('-') ? '' : (argv[1] ?? '')}`.trim() : 'teddy';
  const known = argv[0] === 'session' && commands.some((one) => one.paths?.some((words) => words[1] === argv[1]));
  const help = known ? `${path} --help` : argv[0] === 'session' ? 'teddy session --help' : 'teddy --help';
  const what =
    /^(?:Command not found|Unknown Syntax Error: Command not found)/.test(said) || !known
      ? `Unknown command: teddy ${argv.join(' ')}`
      : said.replace(/^Unknown Syntax Error: /, '');
  return new TeddyError('USAGE', what.endsWith('.') ? what : `${what}.`, `\`${help}\` shows what there is.`);
}

/** `teddy session log | head -1` is no failure. */
function ignoreBrokenPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }
}
