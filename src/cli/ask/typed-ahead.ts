/** What was typed or pasted while nothing was asked: it answers no question and is no command, until somebody has seen it in an edit line. */
import { stripVTControlCharacters } from 'node:util';
import type { CliContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

/** A terminal that gives `unread` what was typed before a question stood there. */
export function keepingTypedAhead(terminal: Terminal, unread: (text: string) => void): Terminal {
  return { ...terminal, beforeQuestion: async () => unread(await takeTypedAhead(terminal.context)) };
}

/** As it was typed, with the marks around what was pasted. A terminal gives it out only to whoever listens, so it is listened to for a moment. */
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
// The rest of what is being pasted is on its way; a terminal that never ends it must not hold up the conversation.
const pasteQuietMs = 1000;

async function listen(typed: () => string): Promise<void> {
  let heard = -1;
  await wait(listenMs);
  for (let quietMs = 0; isPasteOpen(typed()) && quietMs < pasteQuietMs; quietMs += listenMs) {
    if (typed().length !== heard) quietMs = 0;
    heard = typed().length;
    await wait(listenMs);
  }
}

function isPasteOpen(typed: string): boolean {
  return typed.lastIndexOf(pasteStart) > typed.lastIndexOf(pasteEnd);
}

const pasteStart = '\u001b[200~';
const pasteEnd = '\u001b[201~';

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Lines as they stand in an edit line: without keys that are no text, and without the Enter that would have sent them. */
export function toEditText(typed: string): string {
  return stripVTControlCharacters(typed)
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .replace(/\n+$/, '');
}

/** A line that is not ended yet is given out only so. False where the terminal is closed. */
function setRaw(stdin: CliContext['stdin'], isRaw: boolean): boolean {
  try {
    stdin.setRawMode?.(isRaw);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EIO') return false;
    throw error;
  }
}
