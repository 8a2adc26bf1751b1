/** Reads objects that may be missing, damaged or huge: each of that is an answer here. */
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports.ts';
import type { Oid } from '../../session/names.ts';

export type Content =
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'missing'; reason: string }
  | { kind: 'large'; sizeBytes: number }
  | { kind: 'unread' };

export type ReadContent = (oid: Oid, maxBytes: number) => Promise<Content>;

/** `read` reads what is not too large; `measure` looks at the size alone. */
export function contentReader(store: Store): { read: ReadContent; measure: ReadContent } {
  // A damaged object ends the reader for all who were waiting; they ask again, one after the other.
  let again: Promise<unknown> = Promise.resolve();
  const retry = <Value>(ask: () => Promise<Value>): Promise<Value> => {
    const next = again.then(ask);
    again = next.catch(() => undefined);
    return next;
  };
  const persist = async <Value>(ask: () => Promise<Value>): Promise<Value> => {
    try {
      return await ask();
    } catch (error) {
      if (!isGitFailure(error)) throw error;
      return retry(ask);
    }
  };
  const look =
    (reads: boolean): ReadContent =>
    async (oid, maxBytes) => {
      try {
        const sizeBytes = await persist(() => store.readSize(oid));
        if (sizeBytes === null) return { kind: 'missing', reason: `The object ${oid} is missing.` };
        if (sizeBytes > maxBytes) return { kind: 'large', sizeBytes };
        return reads ? { kind: 'bytes', bytes: await persist(() => store.readBlob(oid)) } : { kind: 'unread' };
      } catch (error) {
        if (!isDamage(error)) throw error;
        return { kind: 'missing', reason: `The object ${oid} cannot be read: ${error.message}` };
      }
    };
  return { read: look(true), measure: look(false) };
}

function isGitFailure(error: unknown): boolean {
  return error instanceof TeddyError && error.code === 'GIT_FAILED';
}

/** What an object that is missing or damaged makes git say. */
export function isDamage(error: unknown): error is TeddyError {
  return error instanceof TeddyError && (error.code === 'DAMAGED_SESSION' || error.code === 'GIT_FAILED');
}
