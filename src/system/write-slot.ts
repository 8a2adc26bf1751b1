/** One write session at a time: which one has the slot, and the refusal of another. */
import { TeddyError } from '../errors.ts';
import type { FoundWrite } from '../ports/disk.ts';
import type { Limits } from '../session/write-limits.ts';
import { isExpired } from '../write/step.ts';
import { isOver } from '../write/write.ts';

/** Begun or used not long ago, not over, and its controller, if it has one, is alive. */
export function holdsSlot({ record, state, savedAt, isControlled }: FoundWrite, limits: Limits, now: Date): boolean {
  if (record === null || (record.hasController && !isControlled)) return false;
  if (state !== null) return !isOver(state.phase) && !isExpired(state, limits, now.getTime());
  // Damaged: only who has it in memory can go on with it.
  return isControlled && now.getTime() - savedAt.getTime() < limits.idleExpiryMs;
}

export function toSlotTaken({ id, record }: FoundWrite, now: Date): TeddyError {
  const age = record === null ? '' : `, begun ${formatAge(now.getTime() - Date.parse(record.begunAt))} ago`;
  return new TeddyError(
    'WRITE_ACTIVE',
    'Another write session is already active. Please wait for it to complete.',
    `It is ${id} for ${record?.target ?? 'an unknown file'}${age}: \`teddy write status ${id}\` shows it, \`teddy write cancel ${id}\` ends it.`,
  );
}

function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
