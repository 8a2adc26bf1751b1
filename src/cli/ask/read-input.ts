/** Reads content for a command as bytes, as they arrive. */
import { readFile } from 'node:fs/promises';
import { ContentTooLarge } from '../../write/write-errors.ts';
import { TeddyError } from '../../errors.ts';
import { decodeText } from '../../session/text/bytes.ts';
import { resolvePath } from '../context.ts';
import type { Terminal } from '../terminal.ts';

/** How long stdin may be silent before teddy tells the user that the command is waiting. */
const patienceMs = 2000;

export interface InputOptions {
  terminal: Terminal;
  /** Reading stops as soon as one more byte arrives. */
  maxBytes: number;
  signal: AbortSignal;
  /** The text to show when nothing arrives. */
  waiting: string;
}

/** Reads all of stdin. Throws CONTENT_TOO_LARGE or INTERRUPTED. */
export async function readInput({ terminal, maxBytes, signal, waiting }: InputOptions): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const { stdin } = terminal.context;
  const isTyped = stdin.isTTY === true;
  if (isTyped) terminal.say(waiting);
  const timer = isTyped ? undefined : setTimeout(() => terminal.say(waiting), patienceMs);
  const stop = () => stdin.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const piece of stdin as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      size += piece.length;
      if (size > maxBytes) throw new ContentTooLarge({ maxBytes });
      pieces.push(piece);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
  if (signal.aborted) throw toInterrupted();
  return Buffer.concat(pieces);
}

/** Reads all of stdin as text, which errors call `what`. Throws USAGE for invalid UTF-8, CONTENT_TOO_LARGE or INTERRUPTED. */
export async function readTextInput(what: string, options: InputOptions): Promise<string> {
  const text = decodeText(await readInput(options).catch((error: unknown) => throwTooLong(error, what, options)));
  // A byte order mark is not part of the text.
  if (text !== null) return text.replace(/^\uFEFF/, '');
  throw new TeddyError(
    'USAGE',
    `The ${what} on stdin is not UTF-8 text.`,
    'Save it as UTF-8 and run the command again.',
  );
}

const maxMessageBytes = 10 * 1024 * 1024;

/** Reads the message for `-m -`. Throws as `readTextInput` does. */
export function readMessage(terminal: Terminal, signal: AbortSignal): Promise<string> {
  const waiting = 'Reading the message from stdin; Ctrl-D ends it.';
  return readTextInput('message', { terminal, maxBytes: maxMessageBytes, signal, waiting });
}

/** Replaces the usual hint, because no setting raises this limit. */
function throwTooLong(error: unknown, what: string, { maxBytes }: InputOptions): never {
  if (!(error instanceof TeddyError) || error.code !== 'CONTENT_TOO_LARGE') throw error;
  throw new TeddyError(
    'CONTENT_TOO_LARGE',
    `The ${what} is longer than ${maxBytes / (1024 * 1024)} MiB.`,
    'Put it in a file in the project, and name that file instead.',
    { cause: error },
  );
}

function toInterrupted(): TeddyError {
  return new TeddyError(
    'INTERRUPTED',
    'You interrupted before all of stdin was read.',
    'Nothing was added; send it again.',
  );
}

/** Reads from a path, or from stdin for `-`. Throws FILE_NOT_FOUND, CONTENT_TOO_LARGE or INTERRUPTED. */
export async function readContentFrom(from: string, options: InputOptions): Promise<Uint8Array> {
  if (from === '-') return readInput(options);
  const bytes = await readFile(resolvePath(options.terminal.context, from)).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.replace(/,.*$/, '') : String(error);
    const message = `The content cannot be read from ${from}: ${reason}.`;
    throw new TeddyError('FILE_NOT_FOUND', message, 'Name a file, or use - for stdin.');
  });
  if (bytes.length > options.maxBytes) throw new ContentTooLarge(options);
  return bytes;
}
