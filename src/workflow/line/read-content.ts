/** Reads objects that may be missing, damaged or huge: each of that is an answer here. */
import { isDamage } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import { parseOid, type Oid } from '../../names.ts';

export type Content =
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'missing'; oid: Oid; reason: string }
  | { kind: 'large'; sizeBytes: number }
  | { kind: 'unread' };

type ReadContent = (oid: Oid, maxBytes: number) => Promise<Content>;

/** A content that will be asked for. */
export interface AwaitedContent {
  /** Each time anew where there was no room to keep it. */
  read(): Promise<Content>;
  /** Returns the content if it is known without reading it now; `unread`: it is there, and not too large. */
  peek(): Promise<Content>;
  /** It is not asked for any more, and its room is for others. */
  release(): void;
}

export interface ContentReader {
  /** Reads what is not too large. */
  read: ReadContent;
  /** Looks at the size alone. */
  measure: ReadContent;
  /** Reads at once what there is room for, so that git is never waited for. */
  await(oid: Oid, maxBytes: number): AwaitedContent;
}

/** Awaited contents may take so much together: memory has a limit, and a few objects of a hostile pack can be gigabytes. */
const awaitedBytes = 64 * 1024 * 1024;

export function contentReader(store: Store): ContentReader {
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
      // Whoever looks at it is told; until then it is nobody's failure.
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

/** The object that was not there; null: something else is wrong. */
export function missingOf(error: unknown): Oid | null {
  const found = error instanceof Error ? /^The \w+ ([0-9a-f]{40,64}) is missing\./.exec(error.message)?.[1] : undefined;
  return found === undefined ? null : parseOid(found);
}
