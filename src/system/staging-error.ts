/** Turns the disk's refusals into errors of ours. */
import { TeddyError } from '../errors.ts';
import { errorCode, errorReason } from '../disk/system-error.ts';

type Act = 'written' | 'read' | 'removed';

/** The same result; errors of the system become DISK_FULL or WRITE_FAILED. */
export async function asStagingErrors<Value>(act: Act, run: () => Promise<Value>): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    throw toStagingError(error, act);
  }
}

function toStagingError(error: unknown, act: Act): unknown {
  const code = errorCode(error);
  if (code === null || error instanceof TeddyError) return error;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new TeddyError(
    isFull ? 'DISK_FULL' : 'WRITE_FAILED',
    `The staging of the write session could not be ${act}: ${errorReason(error)}.`,
    isFull ? 'Free some space, and try again.' : 'Check the permissions of `.git/teddy/write_sessions`.',
    { cause: error },
  );
}

export function toDamaged(id: string): TeddyError {
  return new TeddyError(
    'STAGING_DAMAGED',
    `What was staged of write session ${id} is damaged.`,
    `\`teddy write recover ${id} --output <file>\` writes what is left of it to a file.`,
  );
}
