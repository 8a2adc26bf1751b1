/**
 * Holds back text that the user typed or pasted before a question appeared. The text cannot answer a question or act as
 * a command until the user has seen it in an edit line.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { CliContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

/** Returns a terminal that passes text typed before a question appears to `unread`. */
export function keepingTypedAhead(terminal: Terminal, unread: (text: string) => void): Terminal {
  return { ...terminal, beforeQuestion: async () => unread(await takeTypedAhead(terminal.context)) };
}

/**
 * Returns the text as typed, with the marks around pasted parts. Listens for a moment, because a terminal hands the
 * text only to a listener.
 */
export async function takeTypedAhead({ stdin, raise }: CliContext): Promise<string> {
  if (stdin.isTTY !== true || stdin.readableEnded || stdin.destroyed || !setRaw(stdin, true)) return '';
  let typed = '';
  const take = (piece: Buffer) => void (typed += piece.toString('latin1'));
  const ignore = () => undefined;
  stdin.on('data', take).on('error', ignore).resume();
  await listen(() => typed);
  stdin.pause().off('data', take).off('error', ignore);
  setRaw(stdin, false);
  if (typed.includes(ctrlC)) raise('SIGINT');
  return Buffer.from(typed.replaceAll(ctrlC, ''), 'latin1').toString('utf8');
}

const ctrlC = '\u0003';
const listenMs = 20;
// Limits the wait for the rest of a paste, so that a paste that never ends does not block the conversation.
const pasteQuietMs = 1000;

async function listen(typed: () => string): Promise<void> {
  let heard = -1;
  await sleep(listenMs);
  for (let quietMs = 0; isPasteOpen(typed()) && quietMs < pasteQuietMs; quietMs += listenMs) {
    if (typed().length !== heard) quietMs = 0;
    heard = typed().length;
    await sleep(listenMs);
  }
}

function isPasteOpen(typed: string): boolean {
  return typed.lastIndexOf(pasteStart) > typed.lastIndexOf(pasteEnd);
}

const pasteStart = '\u001b[200~';
const pasteEnd = '\u001b[201~';

/**
 * Returns the lines for an edit line, without keys that are not text and without the final Enter, which would have sent
 * them.
 */
export function toEditText(typed: string): string {
  return stripVTControlCharacters(typed)
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .replace(/\n+$/, '');
}

/** Removes lines with a single letter, which could only have answered a question. */
export function withoutAnswers(typed: string): string {
  const lines = typed.split(/(?<=[\r\n])/);
  return lines.filter((line) => !/^\s*[a-z?]?\s*$/i.test(line)).join('');
}

/**
 * Sets raw mode, because a terminal passes on an unfinished line only in raw mode. Returns false when the terminal is
 * closed.
 */
function setRaw(stdin: CliContext['stdin'], isRaw: boolean): boolean {
  try {
    stdin.setRawMode?.(isRaw);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EIO') return false;
    throw error;
  }
}
