/** Waits for the next event of a source: bytes, its end, a due time, or an abort. */
import type { Clock } from '../../ports/project.ts';

export type Arrival = { type: 'bytes'; bytes: Uint8Array } | { type: 'end' } | { type: 'tick' } | { type: 'abort' };

export interface Arrivals {
  /**
   * Resolves to one event at a time; `tick` means that `dueMs` passed before any bytes arrived. Throws the source's
   * errors.
   */
  next(dueMs: number | null): Promise<Arrival>;
  /** Stops listening. The source stays open, because it belongs to the caller. */
  close(): void;
}

/** A longer timer would fire immediately. */
const maxTimerMs = 2 ** 31 - 1;

/** Reads one piece ahead at most. */
export function openArrivals(
  source: AsyncIterable<Uint8Array>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Arrivals {
  const iterator = source[Symbol.asyncIterator]();
  let arrived: (() => Arrival) | null = null;
  let isReading = false;
  let alarm: { dueMs: number; timer: NodeJS.Timeout } | null = null;
  let hasRung = false;
  let wake: (() => void) | null = null;
  const onAbort = () => wake?.();
  signal.addEventListener('abort', onAbort);

  function read(): void {
    isReading = true;
    const arrive = (result: () => Arrival) => {
      arrived = result;
      wake?.();
    };
    iterator.next().then(
      ({ done, value }) => arrive(() => (done === true ? { type: 'end' } : { type: 'bytes', bytes: value })),
      (error: unknown) =>
        arrive(() => {
          throw error;
        }),
    );
  }

  function look(): Arrival | null {
    if (signal.aborted) return { type: 'abort' };
    if (arrived !== null) {
      const result = arrived;
      arrived = null;
      isReading = false;
      return result();
    }
    if (!isReading) read();
    return hasRung ? { type: 'tick' } : null;
  }

  /** The alarm may ring early: content arrives too often to reset the timer for every piece. */
  function setAlarm(dueMs: number | null): void {
    if (dueMs !== null && alarm !== null && alarm.dueMs <= dueMs) return;
    if (alarm !== null) clearTimeout(alarm.timer);
    alarm = null;
    if (dueMs === null) return;
    const waitMs = Math.min(Math.max(dueMs - clock.now().getTime(), 0), maxTimerMs);
    const ring = () => {
      alarm = null;
      hasRung = true;
      wake?.();
    };
    alarm = { dueMs, timer: setTimeout(ring, waitMs) };
  }

  return {
    async next(dueMs) {
      // An alarm that rang while nobody waited rings again, because pieces that have already arrived come first.
      hasRung = false;
      setAlarm(dueMs);
      for (;;) {
        const arrival = look();
        if (arrival !== null) return arrival;
        // `Promise.race` would add to the same promises for every piece.
        await new Promise<void>((resolve) => (wake = resolve));
        wake = null;
      }
    },
    close() {
      signal.removeEventListener('abort', onAbort);
      setAlarm(null);
    },
  };
}
