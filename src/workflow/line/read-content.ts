/** Reads objects that may be missing, damaged or huge, and returns each of these cases as a result. */
import { isDamage } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import { parseOid, type Oid } from '../../names.ts';

export type Content =
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'missing'; oid: Oid; reason: string }
  | { kind: 'large'; sizeBytes: number }
  | { kind: 'unread' };

type ReadContent = (oid: Oid, maxBytes: number) => Promise<Content>;

/** Content that will be needed later. */
export interface AwaitedContent {
  /** Returns the content; rereads it each time if there was no room to keep it. */
  read(): Promise<Content>;
  /** Returns the content without reading it now; `unread` when the object exists, is not too large, and was not kept. */
  peek(): Promise<Content>;
  /** Releases the content and its room. */
  release(): void;
}

export interface ContentReader {
  /** Reads the object unless it is too large. */
  read: ReadContent;
  /** Checks only the size. */
  measure: ReadContent;
  /** Starts reading immediately if there is room, so that the caller need not wait for git later. */
  await(oid: Oid, maxBytes: number): AwaitedContent;
}

/**
 * The memory for all awaited content together: memory is limited, and a few objects in a hostile pack can be gigabytes
 * in size.
 */
const awaitedBytes = 64 * 1024 * 1024;

export function contentReader(store: Store): ContentReader {
  // A damaged object ends git's reader for everyone who is waiting; they retry one after the other.
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
      if (!isDamage(error)) throw error;
      return retry(ask);
    }
  };
  const look =
    (wants: (sizeBytes: number) => boolean): ReadContent =>
    async (oid, maxBytes) => {
      try {
        const sizeBytes = await persist(() => store.readSize(oid));
        if (sizeBytes === null) return { kind: 'missing', oid, reason: `The object ${oid} is missing.` };
        if (sizeBytes > maxBytes) return { kind: 'large', sizeBytes };
        if (!wants(sizeBytes)) return { kind: 'unread' };
        return { kind: 'bytes', bytes: await persist(() => store.readBlob(oid)) };
      } catch (error) {
        if (!isDamage(error)) throw error;
        return { kind: 'missing', oid, reason: `The object ${oid} cannot be read: ${error.message}` };
      }
    };
  const read = look(() => true);
  let roomBytes = awaitedBytes;
  return {
    read,
    measure: look(() => false),
    await(oid, maxBytes) {
      let taken = 0;
      let isReleased = false;
      const take = (sizeBytes: number) => {
        if (isReleased || sizeBytes > roomBytes) return false;
        taken = sizeBytes;
        roomBytes -= sizeBytes;
        return true;
      };
      const early = look(take)(oid, maxBytes);
      // The caller who awaits it receives the error; until then it must not count as an unhandled rejection.
      early.catch(() => undefined);
      return {
        peek: () => early,
        async read() {
          const content = await early;
          return content.kind === 'unread' ? read(oid, maxBytes) : content;
        },
        release() {
          isReleased = true;
          roomBytes += taken;
          taken = 0;
        },
      };
    },
  };
}

/** Returns the missing object; null for a different error. */
export function missingOf(error: unknown): Oid | null {
  const found = error instanceof Error ? /^The \w+ ([0-9a-f]{40,64}) is missing\./.exec(error.message)?.[1] : undefined;
  return found === undefined ? null : parseOid(found);
}
