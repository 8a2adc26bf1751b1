/** Many may push to one remote at once: whoever was slower begins again, a little later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../../errors.ts';

const maxRounds = 5;
const firstWaitMs = 100;

/** \`round\` returns \`changed\`, or throws REMOTE_CHANGED, where somebody else was faster; not in its last round. Throws INTERRUPTED. */
export async function retryWhileChanged<Value>(
  signal: AbortSignal,
  round: (at: { isLast: boolean }) => Promise<Value | 'changed'>,
): Promise<Value> {
  for (let count = 1; ; count += 1) {
    const isLast = count === maxRounds;
    const value = await round({ isLast }).catch((error: unknown) => {
      if (!isLast && error instanceof TeddyError && error.code === 'REMOTE_CHANGED') return 'changed' as const;
      throw error;
    });
    if (value !== 'changed') return value;
    await waitForOthers(count, signal);
  }
}

async function waitForOthers(round: number, signal: AbortSignal): Promise<void> {
  // Grows, so that many who sync at once spread out instead of losing to each other again.
  await sleep(Math.random() * firstWaitMs * 2 ** round, undefined, { signal }).catch(() => {
    throw new TeddyError('INTERRUPTED', 'Interrupted.', 'What was taken stays; run the command again.');
  });
}
