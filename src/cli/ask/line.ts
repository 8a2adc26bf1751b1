import type { EventEmitter } from 'node:events';
import { createInterface, type Interface } from 'node:readline/promises';
import type { CliContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

/** Null on Ctrl-C, when the input has ended, or when the terminal was closed. */
export async function askLine(terminal: Terminal, signal: AbortSignal, question: string): Promise<string | null> {
  await terminal.beforeQuestion?.();
  const { context } = terminal;
  if (signal.aborted || context.stdin.readableEnded) return null;
  const lines = openLines(context);
  if (lines === null) return null;
  const ended = new Promise<null>((resolve) => {
    lines.once('close', () => resolve(null));
    // `on`, not `once`: every attempt to read a closed terminal, or to change its mode, is an error.
    lines.on('error', () => resolve(null));
  });
  // In raw mode Ctrl-C is a key, not a signal; it has to mean the same.
  lines.once('SIGINT', () => context.raise('SIGINT'));
  stopOnKey(lines, context);
  try {
    const answer = await Promise.race([lines.question(question, { signal }), ended]);
    // Whatever comes next begins a line of its own.
    if (answer === null) context.stderr.write('\n');
    return answer;
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  } finally {
    lines.close();
  }
}

/** So has Ctrl-Z. What readline does by itself leaves the terminal deaf after `fg`. */
export function stopOnKey(lines: EventEmitter & { prompt(keepsCursor: boolean): void }, context: CliContext): void {
  const { stdin, raise } = context;
  lines.on('SIGTSTP', () => {
    stdin.setRawMode?.(false);
    // This returns when the process goes on.
    raise('SIGTSTP');
    stdin.setRawMode?.(true);
    lines.prompt(true);
  });
}

/** Null when the terminal is already closed: then it cannot be put into raw mode. */
function openLines({ stdin, stderr }: CliContext): Interface | null {
  try {
    return createInterface({ input: stdin, output: stderr, terminal: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EIO') return null;
    throw error;
  }
}
