/** Runs a child program, and prints how it has ended and the points that it has passed. */
import { TeddyError } from '../../src/errors.ts';
import { points, print } from './fault-points.ts';

export async function endChild(run: () => Promise<void>): Promise<void> {
  // The exit code of Node for a module that never comes to its end.
  process.exitCode = 13;
  try {
    await run();
    process.exitCode = 0;
  } catch (error) {
    const code = error instanceof TeddyError ? error.code : null;
    print({ line: 'failed', code, text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    process.exitCode = 1;
  }
  print({ line: 'points', points });
}
