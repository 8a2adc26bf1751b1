/** Turns an error of the system into words and codes of ours. */
import { getSystemErrorMap } from 'node:util';
import { TeddyError, toMessage } from '../errors.ts';

/** An error number of the system, e.g. `ENOENT`, or null for any other failure. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? null) : null;
}

/** The system's reason in its own words, without paths: `permission denied (EACCES)`. */
export function errorReason(error: unknown): string {
  const errno = error instanceof Error ? (error as NodeJS.ErrnoException).errno : undefined;
  const known = errno === undefined ? undefined : getSystemErrorMap().get(errno);
  if (known) return `${known[1]} (${known[0]})`;
  return toMessage(error);
}

/**
 * Tells of something that the disk has refused: DISK_FULL when no space is left, else WRITE_FAILED. `what`: a sentence that the
 * system's reason follows.
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

/** The participle of a refused act on the disk, for its message. */
export type DiskAct = 'written' | 'read' | 'removed';

/** The same result, and its errors as `toDiskError` tells of them. A defect of ours, and what says itself what it is, stay as they are. */
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

/** For `catch`: gives `value` for an error with one of these codes, and throws every other error again. */
export function fallBackTo<Value>(value: Value, ...codes: string[]): (error: unknown) => Value {
  return (error) => {
    if (codes.includes(errorCode(error) ?? '')) return value;
    throw error;
  };
}

/** For `catch`: null where there is neither such a file nor such a directory. */
export const nullIfGone = fallBackTo(null, 'ENOENT', 'ENOTDIR');

/** For what is in nobody's way when the system refuses it; a defect of ours is thrown on. */
export function ignoreSystemError(error: unknown): void {
  if (errorCode(error) === null) throw error;
}

/** For `catch`: false where the system refuses it; a defect of ours is thrown on. */
export function falseIfRefused(error: unknown): false {
  ignoreSystemError(error);
  return false;
}
