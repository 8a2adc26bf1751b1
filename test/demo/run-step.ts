/** Runs one shell line in the demo's project, shows it with its real output, and checks its exit code. */
import { spawn } from 'node:child_process';
import { styleText } from 'node:util';

export interface Step {
  /** The explanation that the reader gets first. */
  say: string;
  /** One line for `sh`; `teddy` in it is the built executable. */
  line: string;
  /** 0 if not given. */
  exitCode?: number;
  /** Shows only this many lines from the beginning, and the last few. */
  maxLines?: number;
}

export interface Stage {
  /** The directory in which the lines run. */
  directory: string;
  /** The complete environment of the lines. */
  env: Record<string, string>;
  hasColor: boolean;
}

/** Resolves to the output. Throws if the line ends with an exit code that the step does not expect. */
export async function runStep(stage: Stage, { say, line, exitCode: expected = 0, maxLines }: Step): Promise<string> {
  process.stdout.write(`\n${say}\n${paint(stage, 'bold', `$ ${line}`)}\n`);
  const { exitCode, output } = await runLine(stage, line, maxLines === undefined ? showLive : () => undefined);
  if (maxLines !== undefined) process.stdout.write(shorten(stage, output, maxLines));
  if (exitCode !== 0) process.stdout.write(paint(stage, 'dim', `(exit code ${exitCode})\n`));
  if (exitCode !== expected) throw new Error(`This should have ended with ${expected}, not ${exitCode}: ${line}`);
  return output;
}

/** The same as `runStep`, but nothing is shown. */
export async function runQuietly(stage: Stage, line: string): Promise<string> {
  const { exitCode, output } = await runLine({ ...stage, hasColor: false }, line, () => undefined);
  if (exitCode !== 0) throw new Error(`This should have ended with 0, not ${exitCode}: ${line}\n${output}`);
  return output.trimEnd();
}

export function paint(stage: Stage, style: 'bold' | 'dim', text: string): string {
  return stage.hasColor ? styleText(style, text, { validateStream: false }) : text;
}

// One pipe for both streams, so their lines keep their order. The colours are requested by flags: a variable such as
// FORCE_COLOR would also reach the commands that a plan runs, and their reports.
const prelude = `exec 2>&1
teddy() { "$DEMO_NODE" "$DEMO_TEDDY" "$@" $DEMO_TEDDY_COLOR; }
git() { command git $DEMO_GIT_COLOR "$@"; }
`;

function runLine(
  stage: Stage,
  line: string,
  show: (text: string) => void,
): Promise<{ exitCode: number; output: string }> {
  const colors = stage.hasColor
    ? { DEMO_TEDDY_COLOR: '--color=always', DEMO_GIT_COLOR: '-c color.ui=always' }
    : { DEMO_TEDDY_COLOR: '--color=never', DEMO_GIT_COLOR: '-c color.ui=never' };
  const child = spawn('sh', ['-c', `${prelude}${line}`], {
    cwd: stage.directory,
    env: { ...stage.env, ...colors },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    show(text);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === null) reject(new Error(`${String(signal)} ended this: ${line}`));
      else resolve({ exitCode: code, output });
    });
  });
}

function showLive(text: string): void {
  process.stdout.write(text);
}

const lastLines = 4;

function shorten(stage: Stage, output: string, maxLines: number): string {
  const lines = output.trimEnd().split('\n');
  const left = lines.length - maxLines - lastLines;
  if (left <= 1) return `${lines.join('\n')}\n`;
  const gap = paint(stage, 'dim', `... ${left} more lines ...`);
  return `${[...lines.slice(0, maxLines), gap, ...lines.slice(-lastLines)].join('\n')}\n`;
}
