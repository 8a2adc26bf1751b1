/** The words of the command line for what ends a write session here; those of a server are in `http/client-errors.ts`. */
import { TeddyError } from '../errors.ts';
import { ContentTooLarge } from '../write/step.ts';

export async function inOwnWords<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ContentTooLarge)) throw error;
    const message = `Content too large (exceeds ${error.limit}). Please split into smaller files.`;
    throw new TeddyError('CONTENT_TOO_LARGE', message, error.hint, { cause: error });
  }
}
