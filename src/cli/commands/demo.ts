/** Plays a whole session in a temporary directory, so that people see what teddy does before they decide anything. */
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findPackage, hookSource } from '../../app.ts';
import { TeddyError } from '../../errors.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { openBrowser } from '../ask/open-page.ts';
import { option, TeddyCommand, type Terminal, usage, withInterrupt } from '../teddy-command.ts';
import type { CliContext } from '../context.ts';

/** A step of the story, which is in the package beside the answers that it plays. */
interface Step {
  /** The explanation that the reader gets first; a step without one is not shown. */
  say?: string;
  /** One line for `sh`; `teddy` in it is this executable. */
  line: string;
  /** 0 if not given. */
  exitCode?: number;
  /** Shows only this many lines from the beginning, and the last few. */
  maxLines?: number;
}

interface Stage {
  terminal: Terminal;
  signal: AbortSignal;
  /** The directory in which the lines run. */
  directory: string;
  /** The complete environment of the lines. */
  env: Record<string, string>;
  /** False when nothing is shown until the end. */
  isShown: boolean;
}

export class DemoCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Set up',
    description: 'Watch a whole session in a temporary directory; no key and no network are needed.',
    details: `
      The demo makes a small project and works through a session: five turns, one tried in two ways, and one that fails
      and is then fixed. The model's answers come from a recording in the package; the commands, the tests and the
      commits are real. It takes a few seconds, and changes nothing outside its directory.

      At the end, it opens the session's page in a browser, or prints the address if there is no terminal or no display.
      It keeps the directory for you, and says how to remove it. Ctrl-C ends the demo and removes the directory.

      Exit codes: 0 done; 1 a step had another result than recorded.
    `,
    examples: [
      ['Before you install anything', 'npx git-teddy demo'],
      ['Without opening a browser', '$0 demo --no-open'],
    ],
  });

  noOpen = option('--no-open', { describe: 'Print the address of the page without opening it.' });

  protected run(terminal: Terminal): Promise<number> {
    return withInterrupt(terminal, 'teddy demo', async (signal) => {
      const own = await realpath(await mkdtemp(join(tmpdir(), 'teddy-demo-')));
      const env = toEnvironment(this.context);
      const stage: Stage = { terminal, signal, directory: join(own, 'ago'), env, isShown: !this.json };
      try {
        await this.play(stage, own);
      } catch (error) {
        if (!signal.aborted) throw error;
        await rm(own, { recursive: true });
        throw new TeddyError('INTERRUPTED', 'You ended the demo; its directory has been removed.');
      }
      return 0;
    });
  }

  private async play(stage: Stage, own: string): Promise<void> {
    const { terminal, isShown } = stage;
    const startMs = performance.now();
    if (isShown) terminal.print(introduce(terminal, own));
    const fixtures = join(await findPackage(this.context.main), 'fixtures', 'demo');
    await cp(join(fixtures, 'project'), stage.directory, { recursive: true });
    await cp(join(fixtures, 'answers'), join(own, 'answers'), { recursive: true });
    const story = JSON.parse(await readFile(join(fixtures, 'story.json'), 'utf8')) as Step[];
    for (const step of story) await runStep(stage, step);
    const seconds = (performance.now() - startMs) / 1000;
    const page = pathToFileURL(join(own, 'page.html')).href;
    const next = listNext(stage.directory, await nameTeddy(this.context));
    const remove = `rm -rf ${toShellWord(own)}`;
    if (!isShown) return this.printJson(terminal, 'demo', { directory: stage.directory, page, next, remove });
    const mayOpen = terminal.isOutputTty && terminal.isInteractive && !this.noOpen;
    const isOpen = mayOpen && (await openBrowser(this.context, page));
    const lines = [
      '',
      terminal.style(
        'bold',
        `Done in ${seconds.toFixed(1)} s: five turns on two lines, one failure, and the tests pass.`,
      ),
      '',
      isOpen ? 'The page of this session is open in your browser:' : 'The page of this session, for your browser:',
      page,
      '',
      'Try next: ask why a line is there, then try turn 04 again and approve it yourself.',
      ...next.map((line) => `  ${line}`),
      '',
      `The project is kept. To remove everything: ${remove}`,
    ];
    terminal.print(`${lines.join('\n')}\n`);
  }
}

/** Nothing from the user's own set-up reaches the demo: no key, no setting of git, teddy or npm. */
function toEnvironment({ main, env }: CliContext): Record<string, string> {
  const own = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !/^(?:GIT_|TEDDY_|OPENAI_|ANTHROPIC_|npm_|FORCE_COLOR$|NODE_EXTRA_CA_CERTS$|NODE_TEST_CONTEXT$)/i.test(entry[0]),
  );
  const { program } = hookSource(main, env);
  return {
    ...Object.fromEntries(own),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    DEMO_NODE: program.node,
    DEMO_TEDDY: program.main,
  };
}

function introduce(terminal: Terminal, own: string): string {
  const lines = [
    terminal.style('bold', 'teddy: a session from a failing test to a report, every step a commit'),
    '',
    "The model's answers are recorded. Everything else is real: the commands, the tests, the commits.",
    `Nothing leaves this machine, and all of it is in ${own}.`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Throws ACTION_FAILED if the line ends with an exit code that the step does not expect. */
async function runStep(stage: Stage, { say, line, exitCode: expected = 0, maxLines }: Step): Promise<void> {
  const { terminal } = stage;
  const isShown = stage.isShown && say !== undefined;
  // Keeps the styles of git and teddy, which have made all other control characters visible.
  const show = (text: string) => void (isShown && terminal.context.stdout.write(text));
  show(`\n${say}\n${terminal.style('bold', `$ ${line}`)}\n`);
  const { exitCode, output } = await runLine(stage, line, maxLines === undefined ? show : () => undefined);
  if (maxLines !== undefined) show(shorten(terminal, output, maxLines));
  if (exitCode !== 0) show(terminal.style('dim', `(exit code ${exitCode})\n`));
  if (exitCode === expected) return;
  const message = `A step of the demo ended with exit code ${exitCode} instead of ${expected}: ${line}`;
  const shown = isShown ? '' : ` It printed: ${output.trim()}`;
  throw new TeddyError('ACTION_FAILED', `${message}.${shown}`, `Its project is kept in ${stage.directory}.`);
}

// One pipe for both streams, so their lines keep their order. The colours are requested by flags: a variable such as
// FORCE_COLOR would also reach the commands that a plan runs, and their reports.
const prelude = `exec 2>&1
teddy() { "$DEMO_NODE" "$DEMO_TEDDY" "$@" --color=$DEMO_COLOR; }
git() { command git -c color.ui=$DEMO_COLOR "$@"; }
`;

async function runLine(
  { terminal, signal, directory, env }: Stage,
  line: string,
  show: (text: string) => void,
): Promise<{ exitCode: number; output: string }> {
  signal.throwIfAborted();
  const color = terminal.style('bold', '') === '' ? 'never' : 'always';
  const child = spawn('sh', ['-c', `${prelude}${line}`], {
    cwd: directory,
    env: { ...env, DEMO_COLOR: color },
    signal,
  });
  child.stdin.end();
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    show(text);
  });
  // The output ends when everything that the line has started is over.
  return new Promise((resolve, reject) => {
    child.on('error', (error) => (signal.aborted ? undefined : reject(error)));
    child.on('close', (code) => (signal.aborted ? reject(signal.reason) : resolve({ exitCode: code ?? 1, output })));
  });
}

const lastLines = 4;

function shorten(terminal: Terminal, output: string, maxLines: number): string {
  const lines = output.trimEnd().split('\n');
  const left = lines.length - maxLines - lastLines;
  if (left <= 1) return `${lines.join('\n')}\n`;
  const gap = terminal.style('dim', `... ${left} more lines ...`);
  return `${[...lines.slice(0, maxLines), gap, ...lines.slice(-lastLines)].join('\n')}\n`;
}

/** Returns what the user types to call this teddy: a package runner's own PATH ends with it. */
async function nameTeddy({ main, env }: CliContext): Promise<string> {
  if (/\bgit-teddy\b/.test(env['npm_lifecycle_script'] ?? '') && env['npm_command'] === 'exec') return 'npx git-teddy';
  const { program, isOnPath } = hookSource(main, env);
  if (env['npm_config_user_agent'] === undefined && (await isOnPath())) return 'teddy';
  return `${toShellWord(program.node)} ${toShellWord(program.main)}`;
}

function listNext(directory: string, teddy: string): string[] {
  return [
    `cd ${toShellWord(directory)}`,
    `${teddy} why src/ago.js:15`,
    `git switch -q -c my-attempt HEAD~3 && ${teddy} plan -m 'Put it right.' --recording ../answers`,
  ];
}
