/** Reads one message at the prompt of a conversation: one line or several, typed or pasted. */
import { createInterface, type AsyncCompleter, type Interface } from 'node:readline';
import { completeInput, quoteSlash } from './commands.ts';
import type { CliContext } from '../../../context.ts';
import type { Terminal } from '../../../terminal.ts';
import { announcePastes, plainPastes, stopOnKey } from '../../../ask/line.ts';
import { takeTypedAhead, toEditText } from '../../../ask/typed-ahead.ts';

export const nothingGathered: Gathering = { lines: [], isQuoted: false };

/**
 * `nothing`: Ctrl-C put the typed text aside. `interrupt`: Ctrl-C when nothing was typed, or a signal. `end`: Ctrl-D,
 * or the terminal was closed.
 */
type Typed = { kind: 'message'; text: string } | { kind: 'nothing' | 'interrupt' | 'end' };

export interface ChatPrompt {
  /** `listPaths` lists the paths that Tab completes. */
  read(signal: AbortSignal, listPaths?: () => Promise<string[]>): Promise<Typed>;
  /**
   * This text was typed while nothing was asked: the next prompt puts it into its edit line, and only Enter sends it.
   */
  unread(text: string): void;
  /** The conversation is over. */
  close(): void;
}

const maxRemembered = 200;

interface Memory {
  newestFirst: string[];
  ahead: string;
}

/** The arrow keys bring back the messages of this conversation. */
export function openChatPrompt(terminal: Terminal): ChatPrompt {
  const memory: Memory = { newestFirst: [], ahead: '' };
  const { signals, stderr, env } = terminal.context;
  const close = () => void (env['TERM'] === 'dumb' || stderr.write(plainPastes));
  signals.on('exit', close);
  return {
    read: (signal, listPaths = async () => []) => readMessage(terminal, memory, signal, listPaths),
    unread: (text) => void (memory.ahead += text),
    close() {
      signals.off('exit', close);
      close();
    },
  };
}

async function readMessage(
  terminal: Terminal,
  memory: Memory,
  signal: AbortSignal,
  listPaths: () => Promise<string[]>,
): Promise<Typed> {
  // An editor may have switched it off.
  const { context } = terminal;
  if (context.env['TERM'] !== 'dumb') context.stderr.write(announcePastes);
  const ahead = toEditText(memory.ahead + (await takeTypedAhead(context)));
  memory.ahead = '';
  if (signal.aborted) return { kind: 'interrupt' };
  const lines = context.stdin.readableEnded ? null : openLines(context, memory.newestFirst, toCompleter(listPaths));
  if (lines === null) return { kind: 'end' };
  return new Promise((resolve) => {
    const asked: Asked = { ...nothingTyped, terminal, memory, lines, resolve };
    const leave = listen(asked, signal);
    lines.once('close', leave);
    ask(asked);
    if (ahead !== '') paste(asked, ahead);
  });
}

/** The text is treated as pasted: nothing in it ends the message or is a command. */
function paste(asked: Asked, text: string): void {
  beginPaste(asked);
  asked.lines.write(text);
  asked.isPasted = false;
}

interface Asked {
  terminal: Terminal;
  memory: Memory;
  lines: Interface;
  resolve(typed: Typed): void;
  gathering: Gathering;
  isPasted: boolean;
  /** Its first line was pasted whole, so it is not a command. */
  isText: boolean;
  typed: Typed | null;
}

const nothingTyped = {
  gathering: nothingGathered,
  isPasted: false,
  isText: false,
  typed: null,
} satisfies Partial<Asked>;

/** Returns a function that undoes it. */
function listen(asked: Asked, signal: AbortSignal): () => void {
  const { lines } = asked;
  const interrupt = () => end(asked, { kind: 'interrupt' });
  const watchPaste = (_text: string | undefined, key: { name?: string } | undefined) => {
    if (key?.name === 'paste-start') beginPaste(asked);
    if (key?.name === 'paste-end') asked.isPasted = false;
  };
  lines.on('line', (line) => takeLine(asked, line));
  lines.on('SIGINT', () => forget(asked));
  stopOnKey(lines, asked.terminal.context);
  lines.on('close', () => end(asked, { kind: 'end' }));
  // Every attempt to read a closed terminal, or to change its mode, is an error.
  lines.on('error', () => end(asked, { kind: 'end' }));
  signal.addEventListener('abort', interrupt, { once: true });
  const { stdin } = asked.terminal.context;
  stdin.on('keypress', watchPaste);
  return () => {
    signal.removeEventListener('abort', interrupt);
    stdin.off('keypress', watchPaste);
  };
}

function beginPaste(asked: Asked): void {
  asked.isPasted = true;
  // Pasted text may continue a command that was typed.
  if (asked.gathering === nothingGathered) asked.isText = asked.lines.line.trim() === '';
}

function ask({ terminal, lines, gathering }: Asked): void {
  const prompt = gathering === nothingGathered ? (['bold', '> '] as const) : (['dim', '. '] as const);
  lines.setPrompt(terminal.style(prompt[0], prompt[1], 'stderr'));
  lines.prompt();
}

function takeLine(asked: Asked, line: string): void {
  const { memory, gathering, isPasted } = asked;
  // The user has not seen in an edit line the text that arrived together with the end of a message.
  if (asked.typed !== null) return void (memory.ahead += `${line}\n`);
  const next = gatherLine(gathering, line, { isPasted });
  if ('message' in next) {
    const text = asked.isText && gathering !== nothingGathered ? quoteSlash(next.message) : next.message;
    remember(memory, text);
    return end(asked, { kind: 'message', text });
  }
  asked.gathering = next;
  ask(asked);
}

/** Ctrl-C puts the typed text aside; if there is none, it means to leave. */
function forget(asked: Asked): void {
  const { memory, gathering, lines, typed, terminal } = asked;
  if (typed !== null) return;
  const unsaid = [...gathering.lines, lines.line].join('\n');
  terminal.context.stderr.write('^C');
  if (unsaid.trim() === '') return end(asked, { kind: 'interrupt' });
  remember(memory, unsaid);
  end(asked, { kind: 'nothing' });
}

function remember({ newestFirst }: Memory, text: string): void {
  if (text.trim() === '' || newestFirst[0] === text) return;
  newestFirst.unshift(text);
  newestFirst.splice(maxRemembered);
}

/** The rest of the same piece has to be read before listening ends. */
function end(asked: Asked, typed: Typed): void {
  if (asked.typed !== null) return;
  asked.typed = typed;
  setImmediate(() => {
    const { memory, lines, resolve, terminal } = asked;
    // Only Enter ended the line.
    if (typed.kind === 'message') memory.ahead += lines.line;
    else terminal.context.stderr.write('\n');
    lines.close();
    resolve(typed);
  });
}

/** The files are listed at the first Tab of a prompt. Without a list, Tab completes commands. */
function toCompleter(listPaths: () => Promise<string[]>): AsyncCompleter {
  let listing: Promise<string[]> | null = null;
  return (line, done) => {
    // Nothing is completed when the files cannot be listed.
    listing ??= listPaths().catch(() => []);
    void listing.then((paths) => done(null, completeInput(line, paths)));
  };
}

/** Null when the terminal is already closed: then it cannot be put into raw mode. */
function openLines(
  { stdin, stderr }: CliContext,
  newestFirst: readonly string[],
  completer: AsyncCompleter,
): Interface | null {
  try {
    return createInterface({
      input: stdin,
      output: stderr,
      terminal: true,
      history: [...newestFirst],
      historySize: maxRemembered,
      completer,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EIO') return null;
    throw error;
  }
}

/** Collects the lines that are typed or pasted at the prompt until they are a message. */

export interface Gathering {
  readonly lines: readonly string[];
  /** Whether three quotes end the message, not the end of a line. */
  readonly isQuoted: boolean;
}

const quotes = '"""';

/** A pasted line is taken as it is: nothing in it ends or begins anything. */
export function gatherLine(
  { lines, isQuoted }: Gathering,
  line: string,
  { isPasted }: { isPasted: boolean },
): Gathering | { message: string } {
  if (isPasted) return { lines: [...lines, line], isQuoted };
  if (isQuoted) return gatherQuoted(lines, line);
  if (lines.length === 0 && line.trimStart().startsWith(quotes))
    return gatherQuoted([], line.trimStart().slice(quotes.length));
  if (line.endsWith('\\')) return { lines: [...lines, line.slice(0, -1)], isQuoted };
  return toMessage([...lines, line]);
}

function gatherQuoted(lines: readonly string[], line: string): Gathering | { message: string } {
  const text = line.trimEnd();
  if (!text.endsWith(quotes)) return { lines: [...lines, line], isQuoted: true };
  return toMessage([...lines, text.slice(0, -quotes.length)]);
}

/** Removes empty lines around the text, which come from pasting and from quotes on lines of their own. */
function toMessage(lines: readonly string[]): { message: string } {
  return { message: lines.join('\n').replace(/^(?:[^\S\n]*\n)+|\s+$/g, '') };
}
