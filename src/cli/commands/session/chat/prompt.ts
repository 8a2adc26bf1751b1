/** Reads one message at the prompt of a conversation: one or several lines, typed or pasted. */
import { createInterface, type AsyncCompleter, type Interface } from 'node:readline';
import { completeInput, quoteSlash } from './commands.ts';
import type { CliContext } from '../../../context.ts';
import type { Terminal } from '../../../terminal.ts';
import { announcePastes, plainPastes, stopOnKey } from '../../../ask/line.ts';
import { takeTypedAhead, toEditText } from '../../../ask/typed-ahead.ts';

export const nothingGathered: Gathering = { lines: [], isQuoted: false };

/**
 * `nothing`: Ctrl-C discarded the typed text. `interrupt`: Ctrl-C without any text, or a signal. `end`: Ctrl-D, or the
 * terminal closed.
 */
type Typed = { kind: 'message'; text: string } | { kind: 'nothing' | 'interrupt' | 'end' };

export interface ChatPrompt {
  /** `listPaths` lists the paths that Tab completes. */
  read(signal: AbortSignal, listPaths?: () => Promise<string[]>): Promise<Typed>;
  /**
   * Returns text that the user typed while no prompt was open. The next prompt puts it into its edit line, and only
   * Enter sends it.
   */
  unread(text: string): void;
  /** Ends the conversation. */
  close(): void;
}

const maxRemembered = 200;

interface Memory {
  newestFirst: string[];
  ahead: string;
}

/** Opens the prompt. The arrow keys recall the messages of this conversation. */
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
  // An editor may have switched off paste marks.
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

/** Treats the text as pasted: nothing in it ends the message or is read as a command. */
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
  /** True when the user pasted the whole first line, so that it cannot be a command. */
  isText: boolean;
  typed: Typed | null;
}

const nothingTyped = {
  gathering: nothingGathered,
  isPasted: false,
  isText: false,
  typed: null,
} satisfies Partial<Asked>;

/** Returns a function that stops listening. */
function listen(asked: Asked, signal: AbortSignal): () => void {
  const { lines } = asked;
  const interrupt = () => end(asked, { kind: 'interrupt' });
  const watchPaste = (_text: string | undefined, key: { name?: string } | undefined) => {
    if (key?.name === 'paste-start') beginPaste(asked);
    if (key?.name === 'paste-end') asked.isPasted = false;
  };
  lines.on('line', (line) => takeLine(asked, line));
  lines.on('SIGINT', () => discardTyped(asked));
  stopOnKey(lines, asked.terminal.context);
  lines.on('close', () => end(asked, { kind: 'end' }));
  // Every attempt to read a closed terminal, or to change its mode, fails.
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
  // Pasted text may continue a command that the user typed.
  if (asked.gathering === nothingGathered) asked.isText = asked.lines.line.trim() === '';
}

function ask({ terminal, lines, gathering }: Asked): void {
  const prompt = gathering === nothingGathered ? (['bold', '> '] as const) : (['dim', '. '] as const);
  lines.setPrompt(terminal.style(prompt[0], prompt[1], 'stderr'));
  lines.prompt();
}

function takeLine(asked: Asked, line: string): void {
  const { memory, gathering, isPasted } = asked;
  // Text that arrived together with the end of a message was never in an edit line, so the user has not seen it.
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

/** Discards the typed text on Ctrl-C; ends the prompt when there is no text. */
function discardTyped(asked: Asked): void {
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

/** Ends the prompt, but first reads the rest of the same piece of input. */
function end(asked: Asked, typed: Typed): void {
  if (asked.typed !== null) return;
  asked.typed = typed;
  setImmediate(() => {
    const { memory, lines, resolve, terminal } = asked;
    // Enter ended only the line, not the prompt.
    if (typed.kind === 'message') memory.ahead += lines.line;
    else terminal.context.stderr.write('\n');
    lines.close();
    resolve(typed);
  });
}

/** Lists the files at the first Tab of a prompt. Without a list, Tab completes commands. */
function toCompleter(listPaths: () => Promise<string[]>): AsyncCompleter {
  let listing: Promise<string[]> | null = null;
  return (line, done) => {
    // Completes nothing when the files cannot be listed.
    listing ??= listPaths().catch(() => []);
    void listing.then((paths) => done(null, completeInput(line, paths)));
  };
}

/** Returns null when the terminal is already closed and cannot be put into raw mode. */
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

/** The lines typed or pasted at the prompt until they form a message. */

export interface Gathering {
  readonly lines: readonly string[];
  /** True when three quotes, and not the end of a line, end the message. */
  readonly isQuoted: boolean;
}

const quotes = '"""';

/** Adds a line. A pasted line is literal: no part of it ends or begins anything. */
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

/** Removes empty lines around the text, which come from pasting or from quotes on lines of their own. */
function toMessage(lines: readonly string[]): { message: string } {
  return { message: lines.join('\n').replace(/^(?:[^\S\n]*\n)+|\s+$/g, '') };
}
