import { createInterface } from 'node:readline/promises';

/** Null: Ctrl-C, or the input has ended. */
export async function askLine(signal: AbortSignal, question: string): Promise<string | null> {
  if (signal.aborted) return null;
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  const ended = new Promise<null>((resolve) => lines.once('close', () => resolve(null)));
  // In raw mode Ctrl-C is a key, not a signal; it has to mean the same.
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await Promise.race([lines.question(question, { signal }), ended]);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  } finally {
    lines.close();
  }
}
