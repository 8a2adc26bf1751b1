/** What a disk that is full or cannot be written is told apart by: it may take the same bytes later. */
import { TeddyError } from '../errors.ts';

export function isDiskError(error: unknown): error is TeddyError {
  return error instanceof TeddyError && (error.code === 'DISK_FULL' || error.code === 'WRITE_FAILED');
}
