/** Controls what reaches the terminal: colors if the user wants them, and no control characters from other sources. */
import { spawn } from 'node:child_process';
import { styleText } from 'node:util';
import { toVisible, unseen } from '../session/text/visible-text.ts';
import type { CliContext } from './context.ts';

export type Style = Parameters<typeof styleText>[0];
export type ColorMode = 'auto' | 'always' | 'never';

export interface Terminal {
  readonly context: CliContext;
  /** Prints a result on stdout. */
  print(text: string): void;
  /** Prints anything else on stderr. On a terminal, always begins on a new line. */
  say(text: string): void;
  /** Ends the line that the last result left open, if any. */
  endLine(): void;
  /** Draws a line on stderr over the last one drawn; null removes it. Works only on a terminal. */
  redraw(line: string | null): void;
  /** Styles text for stdout or stderr, if that stream has colors. */
  style(style: Style, text: string, stream?: 'stdout' | 'stderr'): string;
  /** True when teddy can ask the user. */
  readonly isInteractive: boolean;
  /** Discards the text that the user has already typed, so that it cannot answer a question. */
  readonly beforeQuestion?: () => Promise<void>;
  readonly isOutputTty: boolean;
  /** The width of a stdout line in characters; infinite when stdout is not a terminal. */
  readonly columns: number;
  /** Shows a long text through the pager on a terminal, otherwise directly on stdout. `configured` is git's `core.pager`. */
  page(text: string, configured?: string): Promise<void>;
}

const eraseLine = '\r\u001b[K';
// Switches off wrapping: a line wider than the terminal would take two rows, and teddy could erase only one of them.
const withoutWrap = '\u001b[?7l';
const withWrap = '\u001b[?7h';

/** Matches the escapes that `styleText` puts around a text, in a group, so that splitting keeps them. */
// oxlint-disable-next-line no-control-regex -- it begins with an escape
const ownStyle = /(\u001b\[(?:[1-4]|7|2[2-9]|3\d|9[0-7])m)/;

/** Makes the text between the styles visible; every second part is a style. */
function showUnstyled(part: string, at: number): string {
  return at % 2 === 1 ? part : toVisible(part);
}

export function openTerminal(context: CliContext, options: ColorMode): Terminal {
  const { env, stdin, stdout, stderr } = context;
  const hasColor = (stream: CliContext['stdout']) => {
    if (options !== 'auto') return options === 'always';
    if (env['NO_COLOR']) return false;
    if (env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '') return env['FORCE_COLOR'] !== '0';
    return stream.isTTY === true && env['TERM'] !== 'dumb';
  };
  const colored = { stdout: hasColor(stdout), stderr: hasColor(stderr) };
  const canRedraw = stderr.isTTY === true && env['TERM'] !== 'dumb';
  // Makes the remaining control characters visible. Does not change output to a pipe, because a program needs exact
  // names.
  const toShown = (text: string, stream: 'stdout' | 'stderr') => {
    if (stream === 'stdout' && stdout.isTTY !== true) return text;
    return colored[stream] ? text.split(ownStyle).map(showUnstyled).join('') : toVisible(text);
  };
  let isDrawn = false;
  let isLineOpen = false;
  const endLine = () => {
    if (isLineOpen) stdout.write('\n');
    isLineOpen = false;
  };
  const erase = () => {
    if (isDrawn) stderr.write(eraseLine);
    isDrawn = false;
  };
  return {
    context,
    print(text) {
      erase();
      stdout.write(toShown(text, 'stdout'));
      if (text !== '') isLineOpen = !text.endsWith('\n');
    },
    endLine,
    say(text) {
      erase();
      if (stdout.isTTY && stderr.isTTY) endLine();
      stderr.write(`${toShown(text, 'stderr')}\n`);
    },
    redraw(line) {
      if (line === null) return erase();
      if (!canRedraw) return;
      isDrawn = true;
      stderr.write(`${withoutWrap}${eraseLine}${toShown(line, 'stderr')}${withWrap}`);
    },
    style: (style, text, stream = 'stdout') =>
      colored[stream] ? styleText(style, text, { validateStream: false }) : text,
    isInteractive: stdin.isTTY === true && stderr.isTTY === true,
    isOutputTty: stdout.isTTY === true,
    // A terminal of unknown size reports 0.
    columns: (stdout.isTTY && stdout.columns) || Number.POSITIVE_INFINITY,
    page: (text, configured) => page(context, text, configured),
  };
}

async function page({ env, stdout }: CliContext, text: string, configured?: string): Promise<void> {
  // Uses git's order; an empty value means no pager.
  const pager = env['GIT_PAGER'] ?? configured ?? env['PAGER'] ?? 'less';
  const isLong = stdout.isTTY && text.split('\n').length > (stdout.rows ?? 0);
  if (!isLong || pager === '' || pager === 'cat' || !(await runPager(env, pager, text))) stdout.write(text);
}

/** Returns false when the program does not exist. */
function runPager(env: Record<string, string | undefined>, pager: string, text: string): Promise<boolean> {
  const child = spawn('sh', ['-c', pager], {
    stdio: ['pipe', 'inherit', 'ignore'],
    env: { ...env, LESS: env['LESS'] ?? 'FRX', LV: env['LV'] ?? '-c' },
  });
  return new Promise((resolve) => {
    child.on('error', () => resolve(false));
    child.on('close', (code) => resolve(code !== 127));
    // Quitting the pager early closes the pipe, which is not an error.
    const { stdin } = child as { stdin?: typeof child.stdin };
    stdin?.on('error', () => undefined);
    stdin?.end(text);
  });
}

/**
 * Renders a document for `--json`, with escapes for the characters that `toVisible` shows. The escapes have the same
 * meaning, but no effect on a terminal.
 */
export function toJson(value: object): string {
  const escape = (found: string) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    );
  return `${JSON.stringify(value, null, 2).replace(unseen, escape)}\n`;
}

/** Makes visible a text that arrives in pieces, which may split a line end or a character. */
export function visibleChunks(): (text: string) => string {
  let held = '';
  return (text) => {
    const all = held + text;
    held = /[\r\uD800-\uDBFF]$/.exec(all)?.[0] ?? '';
    return toVisible(all.slice(0, all.length - held.length));
  };
}
