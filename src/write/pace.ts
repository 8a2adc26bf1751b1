/** When a write session that receives content is to be saved, and when its silent writer is to be asked. */
import type { Write } from './step.ts';

/** When `tick` has something to do; null: never. */
export function nextTickMs(write: Write): number | null {
  if (!isReceiving(write)) return null;
  const times = [saveDueMs(write), promptDueMs(write)].filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}

export function isReceiving({ state: { phase } }: Write): boolean {
  return phase === 'awaiting_content' || phase === 'receiving';
}

export function isSaveDue(write: Write, atMs: number): boolean {
  return isDue(saveDueMs(write), atMs);
}

export function isPromptDue(write: Write, atMs: number): boolean {
  return isDue(promptDueMs(write), atMs);
}

function isDue(dueMs: number | null, atMs: number): boolean {
  return dueMs !== null && atMs >= dueMs;
}

function saveDueMs({ limits, unsavedLines, unsavedSinceMs, savedAtMs }: Write): number | null {
  if (unsavedSinceMs === null) return null;
  const wanted = unsavedLines >= limits.saveLines ? unsavedSinceMs : unsavedSinceMs + limits.saveMs;
  return Math.max(wanted, savedAtMs === null ? wanted : savedAtMs + limits.saveGapMs);
}

function promptDueMs({ limits, contentAtMs, prompts, isPrompted }: Write): number | null {
  return isPrompted || prompts >= limits.maxPrompts ? null : contentAtMs + limits.idlePromptMs;
}
