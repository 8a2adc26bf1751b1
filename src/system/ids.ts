/** Makes ids, and reads the clock that they begin with. */
import { randomBytes, randomUUID, createHash } from 'node:crypto';
import type { Clock, Ids, Hash } from '../ports/project.ts';

const counterEnd = 0x1000;

/**
 * Entries get UUIDs of version 7 (RFC 9562). Those of one process ascend strictly, as text too, even within a millisecond and
 * when the clock is set back: the 12 bits after the version are a counter that starts at random in each millisecond.
 */
export function systemIds(clock: Clock = systemClock()): Ids {
  let lastMs = -1;
  let counter = 0;
  return {
    entryId(at) {
      if (at !== undefined) return renderUuid7(at.getTime(), randomCounter());
      const nowMs = clock.now().getTime();
      if (nowMs > lastMs) {
        lastMs = nowMs;
        counter = randomCounter();
      } else if (++counter === counterEnd) {
        lastMs += 1;
        counter = randomCounter();
      }
      return renderUuid7(lastMs, counter);
    },
    writeId: () => randomUUID(),
  };
}

/** The top bit stays clear, so that a millisecond has room for 2,048 ids at least. */
function randomCounter(): number {
  return randomBytes(2).readUInt16BE() & 0x7ff;
}

/** The other half is that of a random id: its bits are drawn for many ids at once. */
function renderUuid7(timeMs: number, counter: number): string {
  const time = timeMs.toString(16).padStart(12, '0');
  const half = randomUUID().slice('00000000-0000-4000-'.length);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${half}`;
}

export function systemClock(): Clock {
  return { now: () => new Date() };
}

/** 64 lower-case hexadecimal digits; a string is hashed as UTF-8. */
export const sha256: Hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
