/** Waits for branches to move. Polls all awaited branches together, however many calls wait. */
import { performance } from 'node:perf_hooks';
import type { Oid, RefName } from '../names.ts';
import type { Store } from '../ports/git.ts';

export interface RefWatch {
  /** Resolves when the ref points to another commit than `seen`, or when the signal aborts. */
  moved(ref: RefName, seen: Oid | null, signal: AbortSignal): Promise<void>;
}

interface Waiter {
  seen: Oid | null;
  wake(): void;
}

/** The largest share of the time that polling may take; the longer a look takes, the less often teddy looks. */
const share = 0.05;
/** To read more refs than this, teddy lists all branches in one process. */
const fewRefs = 20;

/** `lookMs` is the shortest time between two looks. */
export function refWatch(store: Pick<Store, 'resolve' | 'listRefs'>, lookMs: number): RefWatch {
  const waiting = new Map<RefName, Set<Waiter>>();
  let timer: NodeJS.Timeout | null = null;
  let tookMs = 0;
  const readTips = async (): Promise<Map<RefName, Oid | null>> => {
    const refs = [...waiting.keys()];
    if (refs.length <= fewRefs)
      return new Map(await Promise.all(refs.map(async (ref) => [ref, await store.resolve(ref)] as const)));
    const all = new Map((await store.listRefs('refs/heads/')).map(({ ref, oid }) => [ref, oid]));
    return new Map(refs.map((ref) => [ref, all.get(ref) ?? null]));
  };
  const look = async () => {
    const begunMs = performance.now();
    const tips = await readTips().catch(() => null);
    for (const [ref, waiters] of waiting) {
      const tip = tips?.get(ref);
      if (tip !== undefined) for (const { seen, wake } of waiters) if (seen !== tip) wake();
    }
    tookMs = performance.now() - begunMs;
    timer = null;
    goOn();
  };
  const goOn = () => {
    if (timer === null && waiting.size > 0) timer = setTimeout(() => void look(), Math.max(lookMs, tookMs / share));
  };
  return {
    moved: (ref, seen, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const waiters = waiting.get(ref) ?? new Set();
        waiting.set(ref, waiters);
        const waiter = { seen, wake };
        function wake() {
          signal.removeEventListener('abort', wake);
          waiters.delete(waiter);
          if (waiters.size === 0 && waiting.get(ref) === waiters) waiting.delete(ref);
          resolve();
        }
        signal.addEventListener('abort', wake, { once: true });
        waiters.add(waiter);
        goOn();
      }),
  };
}
