/** A write session that this process has open, in memory and on disk. */
import { damagedWriteError, isDiskError, unknownWriteError } from '../../write/write-errors.ts';
import type { FoundWrite, StagedWrite } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import type { Limits } from '../../session/settings/write-limits.ts';
import { isExpired, openWrite, step, type Effect, type Event } from '../../write/step.ts';
import { isOver, isWriteId, type Phase, type Write, type WriteRecord } from '../../write/write.ts';

export interface HeldWrite {
  readonly staged: StagedWrite;
  readonly record: WriteRecord;
  write: Write;
  /** All received bytes, when in memory; the bytes beyond `savedBytes` exist nowhere else. */
  content: Uint8Array | null;
  savedBytes: number;
  /** True when the whole content is new and none of it is on disk. */
  isReplaced: boolean;
  /** True when the command continues with bytes in memory that it could not save. */
  isTolerant: boolean;
  /** True when the last save failed. */
  isFailing: boolean;
}

export function holdWrite(staged: StagedWrite, limits: Limits, nowMs: number): HeldWrite {
  const { record, state } = staged;
  const write = openWrite(limits, nowMs, state);
  return {
    staged,
    record,
    write,
    content: null,
    savedBytes: state.size,
    isReplaced: false,
    isTolerant: false,
    isFailing: false,
  };
}

/** Reads the limits of write sessions: constants, and one that the user can set. */
export async function readWriteLimits({ settings, writeLimits }: Project): Promise<Limits> {
  const maxBytes = await settings.get('write.maxBytes');
  return { ...writeLimits, ...(maxBytes === undefined ? {} : { maxBytes: Number(maxBytes) }) };
}

/**
 * Keeps a session open while `use` runs. Throws UNKNOWN_WRITE for a session that is over, expired or never existed, and
 * LOCKED.
 */
export async function withWrite<Value>(
  project: Project,
  id: string,
  use: (held: HeldWrite) => Promise<Value>,
  { accepts = [], takesSlot = true }: { accepts?: Phase[]; takesSlot?: boolean } = {},
): Promise<Value> {
  const limits = await readWriteLimits(project);
  const nowMs = project.clock.now().getTime();
  const found = await findActive(project, id, limits, nowMs, accepts);
  // The controller is dead. Resuming the session takes the line's slot, which another session may occupy now.
  const isOrphan = takesSlot && isOrphaned(found) && !isOver(found.state?.phase ?? 'failed');
  reportTail(project, found);
  const staged = isOrphan ? await project.writes.resume(id, limits) : await project.writes.open(id);
  if (staged === null) throw unknownWriteError();
  try {
    return await use(holdWrite(staged, limits, nowMs));
  } finally {
    await staged.close({ goesOn: true });
  }
}

/** Warns that opening the session sets its unconfirmed bytes aside. */
export function reportTail({ notices }: Project, { id, tailBytes }: FoundWrite): void {
  if (tailBytes === 0) return;
  notices.warn(`${tailBytes} bytes that no save had confirmed are set aside: \`teddy write show ${id} --tail\`.`);
}

export function isOrphaned({ record, isControlled }: FoundWrite): boolean {
  return record?.hasController === true && !isControlled;
}

/** Throws UNKNOWN_WRITE. */
export async function findKnown({ writes }: Project, id: string): Promise<FoundWrite> {
  const found = isWriteId(id) ? await writes.find(id) : null;
  if (found === null) throw unknownWriteError();
  return found;
}

async function findActive(
  project: Project,
  id: string,
  limits: Limits,
  nowMs: number,
  accepts: Phase[],
): Promise<FoundWrite> {
  const found = await findKnown(project, id);
  const { state, isDamaged } = found;
  if (state === null) throw isDamaged ? damagedWriteError(id) : unknownWriteError();
  const isUsable = accepts.includes(state.phase) || (!isOver(state.phase) && !isExpired(state, limits, nowMs));
  if (!isUsable) throw unknownWriteError();
  return found;
}

/** Dispatches an event, stores the new state in `held`, and returns the effects, which the caller performs in order. */
export function dispatch(held: Pick<HeldWrite, 'write'>, event: Event): Effect[] {
  const next = step(held.write, event);
  held.write = next.write;
  return next.effects;
}

export async function readContent(held: HeldWrite): Promise<Uint8Array> {
  held.content ??= await held.staged.read();
  return held.content;
}

/** Saves the session. Throws DISK_FULL or WRITE_FAILED, but only warns when the session is tolerant. */
export async function saveWrite(project: Project, held: HeldWrite): Promise<void> {
  const { staged, content, write } = held;
  try {
    if (held.isReplaced) await staged.replace(content ?? new Uint8Array(), write.state);
    else await staged.save(content?.subarray(held.savedBytes) ?? new Uint8Array(), write.state);
    held.isReplaced = false;
    held.savedBytes = write.state.size;
    held.isFailing = false;
    dispatch(held, { type: 'saved', atMs: project.clock.now().getTime() });
  } catch (error) {
    if (!held.isTolerant || !isDiskError(error)) throw error;
    if (!held.isFailing) project.notices.warn(`${error.message} The content is kept in memory until it can be saved.`);
    held.isFailing = true;
    dispatch(held, { type: 'save-failed', atMs: project.clock.now().getTime() });
  }
}
