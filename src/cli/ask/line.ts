/** Asks the user for a line or for a text of several lines. */
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInterface, type Interface } from 'node:readline/promises';
import type { CliContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

/** Returns null on Ctrl-C, at the end of input, or when the terminal has closed. */
export async function askLine(
  terminal: Terminal,
  signal: AbortSignal,
  question: string,
  gather = async (_lines: Interface, _context: CliContext, first: Promise<string>) => first,
): Promise<string | null> {
  await terminal.beforeQuestion?.();
  const { context } = terminal;
  if (signal.aborted || context.stdin.readableEnded) return null;
  const lines = openLines(context);
  if (lines === null) return null;
  const ended = new Promise<null>((resolve) => {
    lines.once('close', () => resolve(null));
    // Uses `on`, not `once`: every attempt to read a closed terminal, or to change its mode, fails.
    lines.on('error', () => resolve(null));
  });
  // In raw mode Ctrl-C is a key, not a signal; this gives it the same effect.
  lines.once('SIGINT', () => context.raise('SIGINT'));
  stopOnKey(lines, context);
  try {
    const first = lines.question(question, { signal });
    const answer = await Promise.race([gather(lines, context, first), ended]);
    // Later output must begin on a new line.
    if (answer === null) context.stderr.write('\n');
    return answer;
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  } finally {
    lines.close();
  }
}

/** Reads a text: lines that the user pastes, or that arrive together, are one answer. Returns null as `askLine` does. */
export async function askText(terminal: Terminal, signal: AbortSignal, question: string): Promise<string | null> {
  const { stderr, env } = terminal.context;
  const marks = env['TERM'] !== 'dumb';
  if (marks) stderr.write(announcePastes);
  const text = await askLine(terminal, signal, question, gatherText);
  if (marks) stderr.write(plainPastes);
  return signal.aborted ? null : text;
}

// Asks the terminal to mark pasted text.
export const announcePastes = '\u001b[?2004h';
export const plainPastes = '\u001b[?2004l';
const togetherMs = 30;

/** Gathers lines until the user presses Enter and nothing more arrives. Pasted text never ends the answer. */
async function gatherText(lines: Interface, { stdin }: CliContext, first: Promise<string>): Promise<string> {
  let isPasted = false;
  // A line end within a paste does not count as Enter.
  let isEnded = false;
  const more: string[] = [];
  const watch = (_text: string | undefined, key: { name?: string } | undefined) => {
    if (key?.name === 'paste-start') isPasted = true;
    else if (key?.name === 'paste-end') isPasted = false;
    else if (key?.name === 'return' || key?.name === 'enter') isEnded = !isPasted;
  };
  stdin.prependListener('keypress', watch);
  lines.setPrompt('');
  lines.on('line', (line) => more.push(line));
  let isClosed = false;
  lines.once('close', () => (isClosed = true));
  try {
    const begun = await first;
    for (let heard = -1; !isClosed && (!isEnded || heard < more.length || lines.line !== '');) {
      heard = more.length;
      await sleep(togetherMs);
    }
    return [begun, ...more].join('\n').trimEnd();
  } finally {
    stdin.off('keypress', watch);
  }
}

/** Handles Ctrl-Z, which is also a key in raw mode. Readline's own handling leaves the terminal without input after `fg`. */
export function stopOnKey(lines: EventEmitter & { prompt(keepsCursor: boolean): void }, context: CliContext): void {
  const { stdin, raise } = context;
  lines.on('SIGTSTP', () => {
    stdin.setRawMode?.(false);
    // This call returns when the process continues.
    raise('SIGTSTP');
    stdin.setRawMode?.(true);
    lines.prompt(true);
  });
}

/** Returns null when the terminal is already closed and cannot be put into raw mode. */
function openLines({ stdin, stderr }: CliContext): Interface | null {
  try {
    return createInterface({ input: stdin, output: stderr, terminal: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EIO') return null;
    throw error;
  }
}
