/** Explains why a tool could not do what it was called for. */
import { TeddyError } from '../../errors.ts';
import type { ToolOutcome } from './chat.ts';

export function toFailure(output: string): ToolOutcome {
  return { output, isError: true };
}

/** Throws INTERRUPTED before anything is done. */
export function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted before the tool was run.');
}
