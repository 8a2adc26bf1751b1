/** Turns system errors into teddy's own messages and codes. */
import { getSystemErrorMap } from 'node:util';
import { TeddyError, toMessage } from '../errors.ts';

/** Returns the code of a system error, e.g. `ENOENT`, or null for any other failure. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? null) : null;
}

/** Returns the system's own words for the reason, without paths: `permission denied (EACCES)`. */
export function errorReason(error: unknown): string {
  const errno = error instanceof Error ? (error as NodeJS.ErrnoException).errno : undefined;
  const known = errno === undefined ? undefined : getSystemErrorMap().get(errno);
  if (known) return `${known[1]} (${known[0]})`;
  return toMessage(error);
}

/**
 * Reports that the disk refused an act: DISK_FULL when no space is left, otherwise WRITE_FAILED. The message begins
 * with `what` and continues with the system's reason.
 */
export function toDiskError(
  error: unknown,
  what: string,
  hint: string,
  hintIfFull = 'Free some space and run the command again.',
): TeddyError {
  const isFull = ['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '');
  const message = `${what}: ${errorReason(error)}.`;
  return new TeddyError(isFull ? 'DISK_FULL' : 'WRITE_FAILED', message, isFull ? hintIfFull : hint, { cause: error });
}

/** The participle that names the refused act in a message. */
export type DiskAct = 'written' | 'read' | 'removed';

/** Returns the result of `run`; turns its system errors into errors from `toDiskError`, and rethrows all others unchanged. */
export async function asDiskErrors<Value>(
  [what, hint, hintIfFull]: readonly [what: string, hint: string, hintIfFull?: string],
  run: () => Promise<Value>,
): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof TeddyError || errorCode(error) === null) throw error;
    throw toDiskError(error, what, hint, hintIfFull);
  }
}

/** For `catch`: returns `value` for an error with one of these codes, and rethrows every other error. */
export function fallBackTo<Value>(value: Value, ...codes: string[]): (error: unknown) => Value {
  return (error) => {
    if (codes.includes(errorCode(error) ?? '')) return value;
    throw error;
  };
}

/** For `catch`: returns null when the file or its directory does not exist. */
export const nullIfGone = fallBackTo(null, 'ENOENT', 'ENOTDIR');

/** For `catch`: ignores system errors where a failure does no harm, and rethrows teddy's own bugs. */
export function ignoreSystemError(error: unknown): void {
  if (errorCode(error) === null) throw error;
}

/** For `catch`: returns false when the system refuses, and rethrows teddy's own bugs. */
export function falseOnSystemError(error: unknown): false {
  ignoreSystemError(error);
  return false;
}
