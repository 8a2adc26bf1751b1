import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock, Ids } from '../ports/project.ts';
import { systemClock } from './clock.ts';

const counterEnd = 0x1000;

/**
 * Entries get UUIDs of version 7 (RFC 9562). Those of one process ascend strictly, as text too, even within a millisecond and
 * when the clock is set back: the 12 bits after the version are a counter that starts at random in each millisecond.
 */
export function systemIds(clock: Clock = systemClock()): Ids {
  let lastMs = -1;
  let counter = 0;
  return {
    entryId() {
      const nowMs = clock.now().getTime();
      if (nowMs > lastMs) {
        lastMs = nowMs;
        counter = randomCounter();
      } else if (++counter === counterEnd) {
        lastMs += 1;
        counter = randomCounter();
      }
      return renderUuid7(lastMs, counter, randomBytes(8));
    },
    writeId: () => randomUUID(),
  };
}

/** The top bit stays clear, so that a millisecond has room for 2,048 ids at least. */
function randomCounter(): number {
  return randomBytes(2).readUInt16BE() & 0x7ff;
}

function renderUuid7(timeMs: number, counter: number, random: Buffer): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(timeMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | counter, 6);
  random.copy(bytes, 8);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
