/** A failure as part of a warning, where something else decides the outcome. */
import { TeddyError } from '../../errors.ts';

/** The reason, and the next step where the error has one. */
export function describeFailure(error: unknown): string {
  if (error instanceof TeddyError && error.hint !== undefined) return `${error.message} ${error.hint}`;
  return error instanceof Error ? error.message : String(error);
}
