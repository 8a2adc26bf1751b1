/** Stdin piece by piece; between two pieces nobody listens to it, so that a question can be asked there. */
export function stdinSource(): AsyncIterable<Uint8Array> {
  const iterator = { next: nextPiece };
  return { [Symbol.asyncIterator]: () => iterator };
}

function nextPiece(): Promise<IteratorResult<Uint8Array>> {
  const { stdin } = process;
  return new Promise((resolve, reject) => {
    const listeners: [event: string, listen: (value: never) => void][] = [
      ['data', (piece: Buffer) => leave(() => resolve({ done: false, value: piece }))],
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
