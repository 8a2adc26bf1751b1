/** A session that was known, and is not any more, says why: an id that never was one must not be told that it has timed out. */
import { TeddyError } from '../errors.ts';

/** What `work` gives; `readStage` is asked for where the session is not known. */
export async function orTimedOut<Value>(
  work: Promise<Value>,
  readStage: () => Promise<string>,
  readExpiryMs: () => number | Promise<number>,
): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code !== 'UNKNOWN_WRITE') throw error;
    const stage = await readStage().catch(() => null);
    if (stage !== 'expired') throw error;
    const minutes = (await readExpiryMs()) / 60_000;
    throw new TeddyError(
      'UNKNOWN_WRITE',
      `Session timed out after ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} of inactivity. Please start over.`,
      '`teddy write list` shows its id; `teddy write recover` brings back what was received.',
      { cause: error },
    );
  }
}
