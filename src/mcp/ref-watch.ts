/** Wakes those who wait for a branch to move. However many wait, the branches are looked at once in a while, all together. */
import type { Oid, RefName } from '../names.ts';
import type { Store } from '../ports/git.ts';

export interface RefWatch {
  /** Resolves when the ref is at another commit than `seen`, and with the signal. */
  moved(ref: RefName, seen: Oid | null, signal: AbortSignal): Promise<void>;
}

interface Waiter {
  seen: Oid | null;
  wake(): void;
}

export function refWatch(store: Pick<Store, 'resolve'>, lookMs: number): RefWatch {
  const waiting = new Map<RefName, Set<Waiter>>();
  let timer: NodeJS.Timeout | null = null;
  const look = async () => {
    await Promise.all(
      [...waiting].map(async ([ref, waiters]) => {
        const tip = await store.resolve(ref).catch(() => undefined);
        if (tip !== undefined) for (const { seen, wake } of waiters) if (seen !== tip) wake();
      }),
    );
    timer = null;
    goOn();
  };
  const goOn = () => {
    if (timer === null && waiting.size > 0) timer = setTimeout(() => void look(), lookMs);
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
