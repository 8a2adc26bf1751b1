/** When a write session that receives content is to be saved, and when its silent writer is to be asked. */
import type { Write } from './write.ts';

/** When `tick` has something to do; null: never. */
export function nextTickMs(write: Write, nowMs: number): number | null {
  if (!isReceiving(write)) return null;
  const times = [saveDueMs(write, nowMs), promptDueMs(write)].filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}

export function isReceiving({ state: { phase } }: Write): boolean {
  return phase === 'awaiting_content' || phase === 'receiving';
}

export function isSaveDue(write: Write, atMs: number): boolean {
  return isDue(saveDueMs(write, atMs), atMs);
}

export function isPromptDue(write: Write, atMs: number): boolean {
  return isDue(promptDueMs(write), atMs);
}

function isDue(dueMs: number | null, atMs: number): boolean {
  return dueMs !== null && atMs >= dueMs;
}

function saveDueMs({ limits, unsavedLines, unsavedSinceMs, savedAtMs }: Write, nowMs: number): number | null {
  if (unsavedSinceMs === null) return null;
  // The clock was set back: nothing says how long the bytes have waited, and they must not wait for as long as it jumped.
  if (unsavedSinceMs > nowMs) return nowMs;
  const wanted = unsavedLines >= limits.saveLines ? unsavedSinceMs : unsavedSinceMs + limits.saveMs;
  return Math.max(wanted, savedAtMs === null || savedAtMs > nowMs ? wanted : savedAtMs + limits.saveGapMs);
}

function promptDueMs({ limits, contentAtMs, prompts, isPrompted }: Write): number | null {
  return isPrompted || prompts >= limits.maxPrompts ? null : contentAtMs + limits.idlePromptMs;
}
