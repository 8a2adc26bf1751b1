/** A write session's life as a function: an event leads to a new state, and to effects to perform. */
import type { Oid } from '../names.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import { ContentTooLarge, finalizingError, unknownWriteError } from './write-errors.ts';
import { initialState, isOver, type Finding, type Install, type WriteState, type Write } from './write.ts';

export type Event =
  /** With 0 bytes, none of the received text is known to be content yet. */
  | { type: 'content'; bytes: number; lines: number; atMs: number }
  /** Time has passed. */
  | { type: 'tick'; atMs: number }
  | { type: 'saved'; atMs: number }
  /** The disk rejected the bytes; teddy tries again when the next save is due. */
  | { type: 'save-failed'; atMs: number }
  /** New content replaces the received content. */
  | { type: 'restart'; atMs: number }
  /** The content is complete. */
  | { type: 'done'; atMs: number }
  /** No more content will arrive, but nothing marks it as complete. */
  | { type: 'end' }
  /** `isOfModel`: a model that repeats a mistake would do so again, but a user may correct something else first. */
  | { type: 'rejected'; findings: Finding[]; isOfModel: boolean; atMs: number }
  | { type: 'accepted'; install: Install; atMs: number }
  /** A crash occurred before the installation, so teddy checks the content again. */
  | { type: 'unprepared' }
  | { type: 'installed' }
  | { type: 'committed'; commit: Oid }
  /** teddy cannot write the content to the target, but keeps it. */
  | { type: 'refused'; reason: string }
  | { type: 'cancel' }
  /** The user or a program resumes a session that had failed, expired, or lost its controller. */
  | { type: 'reopen'; atMs: number };

/** An effect to perform, in the given order. `discard`: the content is no longer needed. */
export type Effect = 'save' | 'prompt' | 'validate' | 'install' | 'commit' | 'discard';

export interface Step {
  write: Write;
  effects: Effect[];
}

export function openWrite(limits: Limits, nowMs: number, state: WriteState = initialState(nowMs)): Write {
  return {
    limits,
    state,
    unsavedLines: 0,
    unsavedSinceMs: null,
    savedAtMs: null,
    contentAtMs: nowMs,
    prompts: 0,
    isPrompted: false,
  };
}

/**
 * Throws CONTENT_TOO_LARGE, UNKNOWN_WRITE or WRITE_FINALIZING for an event that is not possible now, and then changes
 * nothing.
 */
export function step(write: Write, event: Event): Step {
  switch (event.type) {
    case 'content':
      return receive(write, event);
    case 'tick':
      return pass(write, event.atMs);
    case 'saved':
      return { write: { ...write, unsavedLines: 0, unsavedSinceMs: null, savedAtMs: event.atMs }, effects: [] };
    case 'save-failed':
      return { write: { ...write, unsavedLines: 0, unsavedSinceMs: event.atMs, savedAtMs: event.atMs }, effects: [] };
    case 'restart':
      return { write: restart(write, event.atMs), effects: [] };
    case 'done':
      return finish(write, event.atMs);
    case 'end':
      return { write, effects: isUnsaved(write) ? ['save'] : [] };
    case 'rejected':
      return { write: change(write, toRejected(write, event)), effects: ['save'] };
    case 'accepted':
      return {
        write: change(write, { phase: 'installing', install: event.install, findings: [], activityAt: event.atMs }),
        effects: ['save', 'install'],
      };
    case 'unprepared':
      return { write: change(write, { phase: 'finalizing' }), effects: ['save', 'validate'] };
    case 'installed':
      return { write: change(write, { phase: 'installed' }), effects: ['save', 'commit'] };
    case 'committed':
      return toCommitted(write, event.commit);
    case 'refused':
      return { write: change(write, { phase: 'failed', install: null, reason: event.reason }), effects: ['save'] };
    case 'cancel':
      return cancel(write);
    case 'reopen':
      return reopen(write, event.atMs);
  }
}

/** Returns true if the session has been idle too long to keep its slot. */
export function isExpired({ phase, activityAt }: WriteState, { idleExpiryMs }: Limits, nowMs: number): boolean {
  // Otherwise, setting the clock back would occupy the slot for as long as the clock was set back.
  return !isOver(phase) && Math.abs(nowMs - activityAt) >= idleExpiryMs;
}

function receive(write: Write, { bytes, lines, atMs }: Extract<Event, { type: 'content' }>): Step {
  refuseUnlessOpen(write.state);
  if (write.state.size + bytes > write.limits.maxBytes) throw new ContentTooLarge(write.limits);
  const phase = bytes > 0 ? 'receiving' : write.state.phase;
  const received: Write = {
    ...change(write, { phase, size: write.state.size + bytes, activityAt: atMs }),
    unsavedLines: write.unsavedLines + lines,
    unsavedSinceMs: write.unsavedSinceMs ?? (bytes > 0 ? atMs : null),
    contentAtMs: atMs,
    isPrompted: false,
  };
  return { write: received, effects: isSaveDue(received, atMs) ? ['save'] : [] };
}

function restart(write: Write, atMs: number): Write {
  refuseUnlessOpen(write.state);
  const restarted = change(write, { phase: 'receiving', size: 0, activityAt: atMs });
  return { ...restarted, unsavedLines: 0, unsavedSinceMs: null, contentAtMs: atMs, isPrompted: false };
}

function pass(write: Write, atMs: number): Step {
  if (!isReceiving(write)) return { write, effects: [] };
  const isSilent = isPromptDue(write, atMs);
  const isSaved = isSilent ? !isUnsaved(write) : !isSaveDue(write, atMs);
  const effects: Effect[] = isSaved ? [] : ['save'];
  if (!isSilent) return { write, effects };
  return { write: { ...write, isPrompted: true, prompts: write.prompts + 1 }, effects: [...effects, 'prompt'] };
}

/** Returns the remaining work. A crash may have occurred in any phase. */
function finish(write: Write, atMs: number): Step {
  const { phase } = write.state;
  if (phase === 'installing') return { write, effects: ['install'] };
  if (phase === 'installed') return { write, effects: ['commit'] };
  if (isOver(phase)) throw unknownWriteError();
  return { write: change(write, { phase: 'finalizing', activityAt: atMs }), effects: ['save', 'validate'] };
}

function toRejected(
  { state, limits }: Write,
  { findings, isOfModel, atMs }: Extract<Event, { type: 'rejected' }>,
): Partial<WriteState> {
  const validations = state.validations + 1;
  const isRepeated = isOfModel && validations > 1 && JSON.stringify(findings) === JSON.stringify(state.findings);
  const reason = isRepeated
    ? 'the same findings twice'
    : validations >= limits.maxValidations
      ? `${validations} validation${validations === 1 ? '' : 's'} failed`
      : null;
  return {
    phase: reason === null ? 'needs_corrections' : 'failed',
    validations,
    findings,
    reason,
    activityAt: atMs,
  };
}

function toCommitted(write: Write, commit: Oid): Step {
  const { install } = write.state;
  if (install === null) throw new Error('A session that was never installed cannot be committed.');
  const result = { ...install, commit };
  return { write: change(write, { phase: 'committed', result }), effects: ['save', 'discard'] };
}

function cancel(write: Write): Step {
  const { phase } = write.state;
  if (phase === 'committed') throw unknownWriteError();
  if (phase === 'installed') throw finalizingError();
  return { write: change(write, { phase: 'cancelled' }), effects: ['discard'] };
}

function reopen(write: Write, atMs: number): Step {
  const { phase } = write.state;
  if (phase === 'committed' || phase === 'cancelled') throw unknownWriteError();
  const isPlaced = phase === 'installing' || phase === 'installed';
  const fresh: Partial<WriteState> = { phase: 'receiving', validations: 0, findings: [], install: null, reason: null };
  const reopened = change(write, { ...(isPlaced ? {} : fresh), activityAt: atMs });
  return { write: { ...reopened, contentAtMs: atMs }, effects: ['save'] };
}

function change(write: Write, changes: Partial<WriteState>): Write {
  return { ...write, state: { ...write.state, ...changes } };
}

function isUnsaved({ unsavedSinceMs }: Write): boolean {
  return unsavedSinceMs !== null;
}

function refuseUnlessOpen({ phase }: WriteState): void {
  if (isOver(phase)) throw unknownWriteError();
  if (phase === 'installing' || phase === 'installed') throw finalizingError();
}

/** Returns when the next `tick` has something to do; null for never. */
export function nextTickMs(write: Write, nowMs: number): number | null {
  if (!isReceiving(write)) return null;
  const times = [saveDueMs(write, nowMs), promptDueMs(write)].filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}

function isReceiving({ state: { phase } }: Write): boolean {
  return phase === 'awaiting_content' || phase === 'receiving';
}

export function isSaveDue(write: Write, atMs: number): boolean {
  return isDue(saveDueMs(write, atMs), atMs);
}

function isPromptDue(write: Write, atMs: number): boolean {
  return isDue(promptDueMs(write), atMs);
}

function isDue(dueMs: number | null, atMs: number): boolean {
  return dueMs !== null && atMs >= dueMs;
}

function saveDueMs({ limits, unsavedLines, unsavedSinceMs, savedAtMs }: Write, nowMs: number): number | null {
  if (unsavedSinceMs === null) return null;
  // The clock was set back, so the age of the bytes is unknown, and they must not wait until the clock catches up.
  if (unsavedSinceMs > nowMs) return nowMs;
  const wanted = unsavedLines >= limits.saveLines ? unsavedSinceMs : unsavedSinceMs + limits.saveMs;
  return Math.max(wanted, savedAtMs === null || savedAtMs > nowMs ? wanted : savedAtMs + limits.saveGapMs);
}

function promptDueMs({ limits, contentAtMs, prompts, isPrompted }: Write): number | null {
  return isPrompted || prompts >= limits.maxPrompts ? null : contentAtMs + limits.idlePromptMs;
}
