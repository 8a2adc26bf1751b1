import { TeddyError } from '../errors.ts';

/** A terminal that gathers a line for us keeps so much of it, and drops the rest without a word. */
const maxTerminalLine = 4095;

/**
 * Stdin piece by piece; between two pieces nobody listens to it, so that a question can be asked there. Throws
 * CONTENT_TOO_LARGE for a line that the terminal has cut.
 */
export function stdinSource(): AsyncIterable<Uint8Array> {
  const iterator = { next: nextPiece };
  return { [Symbol.asyncIterator]: () => iterator };
}

function nextPiece(): Promise<IteratorResult<Uint8Array>> {
  const { stdin } = process;
  return new Promise((resolve, reject) => {
    const listeners: [event: string, listen: (value: never) => void][] = [
      [
        'data',
        (piece: Buffer) => leave(() => (isCut(piece) ? reject(toCut()) : resolve({ done: false, value: piece }))),
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

function isCut(piece: Buffer): boolean {
  if (process.stdin.isTTY !== true) return false;
  for (let start = 0; start < piece.length;) {
    const end = piece.indexOf(10, start);
    if ((end === -1 ? piece.length : end) - start >= maxTerminalLine) return true;
    if (end === -1) return false;
    start = end + 1;
  }
  return false;
}

function toCut(): TeddyError {
  return new TeddyError(
    'CONTENT_TOO_LARGE',
    `A line is longer than a terminal takes (${maxTerminalLine} bytes), and was cut there.`,
    'Send the content from a file: `teddy write stream ... < <file>`.',
  );
}
