/** Makes IDs, and reads the clock for them. */
import { randomBytes, randomUUID, createHash } from 'node:crypto';
import type { Clock, Ids, Hash } from '../ports/project.ts';

const counterEnd = 0x1000;

/**
 * Entries have UUIDs of version 7 (RFC 9562). Within one process they ascend strictly, also as text, even within a
 * millisecond and when the clock goes back: the 12 bits after the version are a counter that starts at random in each
 * millisecond.
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

/** Keeps the top bit clear, so that a millisecond has room for at least 2,048 IDs. */
function randomCounter(): number {
  return randomBytes(2).readUInt16BE() & 0x7ff;
}

/** The other half comes from a random ID; teddy draws bits for many IDs in one call. */
function renderUuid7(timeMs: number, counter: number): string {
  const time = timeMs.toString(16).padStart(12, '0');
  const half = randomUUID().slice('00000000-0000-4000-'.length);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${half}`;
}

export function systemClock(): Clock {
  return { now: () => new Date() };
}

/** Returns 64 lowercase hexadecimal digits; hashes a string as UTF-8. */
export const sha256: Hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
