/** What happens next to whoever reads from a source: bytes, its end, a time that has come, an abort. */
import type { Clock } from '../../ports/project.ts';

export type Arrival = { type: 'bytes'; bytes: Uint8Array } | { type: 'end' } | { type: 'tick' } | { type: 'abort' };

export interface Arrivals {
  /** One at a time. `tick`: the clock has come to `dueMs`, and no bytes are there. Throws what the source throws. */
  next(dueMs: number | null): Promise<Arrival>;
  /** Nothing is listened to any more. The source stays open: it is the caller's. */
  close(): void;
}

/** A longer timer would ring at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Reads one piece ahead at most. */
export function openArrivals(
  source: AsyncIterable<Uint8Array>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Arrivals {
  const read = openReader(source, () => wake?.());
  const alarm = openAlarm(clock, () => {
    hasRung = true;
    wake?.();
  });
  let hasRung = false;
  let wake: (() => void) | null = null;
  const onAbort = () => wake?.();
  signal.addEventListener('abort', onAbort);

  function look(): Arrival | null {
    if (signal.aborted) return { type: 'abort' };
    return read() ?? (hasRung ? { type: 'tick' } : null);
  }

  return {
    async next(dueMs) {
      // What rang while nobody waited rings again: the pieces that are there already come first.
      hasRung = false;
      alarm.set(dueMs);
      for (;;) {
        const arrival = look();
        if (arrival !== null) return arrival;
        // Not `Promise.race`, which would add to the same promises for every piece.
        await new Promise<void>((resolve) => (wake = resolve));
        wake = null;
      }
    },
    close() {
      signal.removeEventListener('abort', onAbort);
      alarm.set(null);
    },
  };
}

/** A function that gives what has come, or begins to wait for it and calls `onCome` then. */
function openReader(source: AsyncIterable<Uint8Array>, onCome: () => void): () => Arrival | null {
  const iterator = source[Symbol.asyncIterator]();
  let take: (() => Arrival) | null = null;
  let isReading = false;
  function come(result: () => Arrival): void {
    take = result;
    onCome();
  }
  return () => {
    if (take !== null) {
      const taken = take;
      take = null;
      isReading = false;
      return taken();
    }
    if (!isReading) {
      isReading = true;
      iterator.next().then(
        ({ done, value }) => come(() => (done === true ? { type: 'end' } : { type: 'bytes', bytes: value })),
        (error: unknown) =>
          come(() => {
            throw error;
          }),
      );
    }
    return null;
  };
}

/** Rings at the time that was set last, or earlier: content comes more often than the time is worth changing. */
function openAlarm(clock: Clock, onRing: () => void): { set(dueMs: number | null): void } {
  let set: { dueMs: number; timer: NodeJS.Timeout } | null = null;
  function clear(): void {
    if (set !== null) clearTimeout(set.timer);
    set = null;
  }
  function ring(): void {
    set = null;
    onRing();
  }
  return {
    set(dueMs) {
      if (dueMs === null) return clear();
      if (set !== null && set.dueMs <= dueMs) return;
      clear();
      const waitMs = Math.min(Math.max(dueMs - clock.now().getTime(), 0), maxTimerMs);
      set = { dueMs, timer: setTimeout(ring, waitMs) };
    },
  };
}
