/** Reports to whoever writes content on stdin, and asks for decisions, for `write stream` and `write recover --continue`. */
import type { Decision } from '../../../workflow/writes/run-write.ts';
import type { StreamListener, StreamOptions } from '../../../workflow/writes/stream.ts';
import { askShrink, askYes, isShrinkAlone, showFinalized } from '../../ask/finish-write.ts';
import { showFindings } from '../../render/write.ts';
import type { Terminal } from '../../terminal.ts';
import type { FinalizedAnswer } from '../../../http/write-api.ts';
import type { RejectedAnswer } from '../../../http/schemas.ts';
import { TeddyError } from '../../../errors.ts';
import type { CliContext } from '../../context.ts';

export interface Streaming {
  terminal: Terminal;
  signal: AbortSignal;
  eofIsDone: boolean;
  force: boolean;
  /** Null when the output is for the user, not a program. */
  printJson: ((value: object) => void) | null;
  /** The URL of the server that receives the content. */
  server?: string | undefined;
}

export type ContentStream = (
  options: StreamOptions,
  listener: StreamListener<FinalizedAnswer>,
) => Promise<FinalizedAnswer>;

/** Returns the exit code. Throws the errors of `run`, and VALIDATION_FAILED. */
export async function streamContent(streaming: Streaming, run: ContentStream): Promise<number> {
  const { terminal, signal, eofIsDone, force, printJson, server } = streaming;
  const isCorrectable = terminal.isInteractive && printJson === null;
  let shownMessage: string | undefined;
  const listener: StreamListener<FinalizedAnswer> = {
    onPrompt: (text) => terminal.say(text),
    async decide(rejected) {
      if (!isCorrectable || rejected.success) return 'leave';
      shownMessage = rejected.message;
      return askCorrection(terminal, signal, rejected);
    },
  };
  try {
    const source = stdinSource(terminal.context);
    const finalized = await run({ source, eofIsDone, force, isCorrectable, signal }, listener);
    return showFinalized({ terminal, printJson, shownMessage, server }, finalized);
  } finally {
    // A pipe that stays open would keep the process alive.
    terminal.context.stdin.destroy();
  }
}

async function askCorrection(terminal: Terminal, signal: AbortSignal, rejected: RejectedAnswer): Promise<Decision> {
  if (isShrinkAlone(rejected)) return (await askShrink(terminal, signal, rejected)) ? 'accept' : 'leave';
  showFindings(terminal, rejected);
  if (!(await askYes(terminal, signal, 'Send the whole content again? [Y/n] ', true))) return 'leave';
  terminal.say('Send the whole content again, and end it as before.');
  return 'correct';
}

/** A terminal keeps this many bytes of a line and silently drops the rest. */
const maxTerminalLine = 4095;

/**
 * Reads stdin piece by piece. Attaches no listener between two pieces, so that teddy can ask a question there. Throws
 * CONTENT_TOO_LARGE for a line that the terminal has cut.
 */
function stdinSource({ stdin }: CliContext): AsyncIterable<Uint8Array> {
  const iterator = { next: () => nextPiece(stdin) };
  return { [Symbol.asyncIterator]: () => iterator };
}

function nextPiece(stdin: CliContext['stdin']): Promise<IteratorResult<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const listeners: [event: string, listen: (value: never) => void][] = [
      [
        'data',
        (piece: Buffer) =>
          leave(() => (isCut(stdin, piece) ? reject(cutLineError()) : resolve({ done: false, value: piece }))),
      ],
      ['end', () => leave(() => resolve({ done: true, value: undefined }))],
      ['close', () => leave(() => resolve({ done: true, value: undefined }))],
      ['error', (error: Error) => leave(() => reject(error))],
    ];
    const leave = (settle: () => void) => {
      for (const [event, listen] of listeners) stdin.off(event, listen as () => void);
      stdin.pause();
      settle();
    };
    if (stdin.readableEnded || stdin.destroyed) return resolve({ done: true, value: undefined });
    for (const [event, listen] of listeners) stdin.on(event, listen as () => void);
    stdin.resume();
  });
}

function isCut(stdin: CliContext['stdin'], piece: Buffer): boolean {
  if (stdin.isTTY !== true) return false;
  for (let start = 0; start < piece.length;) {
    const end = piece.indexOf(10, start);
    if ((end === -1 ? piece.length : end) - start >= maxTerminalLine) return true;
    if (end === -1) return false;
    start = end + 1;
  }
  return false;
}

function cutLineError(): TeddyError {
  return new TeddyError(
    'CONTENT_TOO_LARGE',
    `A line is longer than the terminal accepts (${maxTerminalLine} bytes), and was cut off.`,
    'Send the content from a file: `teddy write stream ... < <file>`.',
  );
}
