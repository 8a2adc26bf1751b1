/** Runs a child program, and prints how it has ended and the points that it has passed. */
import { TeddyError } from '../../src/errors.ts';
import { points, print } from './fault-points.ts';

export async function endChild(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const code = error instanceof TeddyError ? error.code : null;
    print({ line: 'failed', code, text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    process.exitCode = 1;
  }
  print({ line: 'points', points });
}
