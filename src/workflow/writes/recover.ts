/** Resumes a write session after a crash, an error or a long silence. */
import { damagedWriteError, unknownWriteError } from '../../write/write-errors.ts';
import { TeddyError } from '../../errors.ts';
import type { FoundWrite } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import type { Limits } from '../../session/settings/write-limits.ts';
import { isExpired, openWrite } from '../../write/step.ts';
import { isOver } from '../../write/write.ts';
import { dropMarker } from './append.ts';
import { refusePlaced } from './clean.ts';
import { finalizeHeld, type Finalized } from './finalize.ts';
import { openTarget } from './find-target.ts';
import { inspectTarget } from './inspect-target.ts';
import { requireBase } from './install.ts';
import type { LeftWrite } from './receive-from-model.ts';
import { dispatch, findKnown, holdWrite, readWriteLimits, saveWrite, reportTail, type HeldWrite } from './held.ts';

/**
 * Resumes a session and takes its line's slot; the caller closes `held.staged`. Throws UNKNOWN_WRITE, WRITE_ACTIVE,
 * LOCKED or STAGING_DAMAGED.
 */
export async function claimWrite(project: Project, id: string): Promise<HeldWrite> {
  const limits = await readWriteLimits(project);
  const found = await findKnown(project, id);
  if (found.state === null) throw damagedWriteError(id);
  if (found.state.phase === 'committed') throw toCommitted(id);
  refuseReceived(found, limits, project.clock.now().getTime());
  reportTail(project, found);
  const staged = await project.writes.resume(id, limits);
  if (staged === null) throw unknownWriteError();
  try {
    const atMs = project.clock.now().getTime();
    const held = holdWrite(staged, limits, atMs);
    for (const effect of dispatch(held, { type: 'reopen', atMs }))
      if (effect === 'save') await saveWrite(project, held);
    return held;
  } catch (error) {
    await staged.close();
    throw error;
  }
}

/**
 * Resumes a session for a model. Throws NOT_ON_LINE and TARGET_CHANGED before asking the model for content that teddy
 * could not write.
 */
export async function claimLeftover(project: Project, id: string): Promise<LeftWrite> {
  const isWhole = await hasEnded(project, id);
  const held = await claimWrite(project, id);
  try {
    if (isWhole) await keepEnded(project, held);
    else
      requireBase(
        project,
        held.record,
        await inspectTarget(project, await openTarget(project, held), held.record.target),
      );
    return { held, isWhole };
  } catch (error) {
    await held.staged.close();
    if (!(error instanceof TeddyError) || error.code !== 'NOT_ON_LINE') throw error;
    const hint = error.hint?.replace(/`teddy write recover \S+ --finalize`/, `\`teddy write ask --resume ${id}\``);
    throw new TeddyError(error.code, error.message, hint?.replace('finalize again', 'go on'), { cause: error });
  }
}

/** Records that the content is complete, which remains true even if finalizing it fails. */
async function keepEnded(project: Project, held: HeldWrite): Promise<void> {
  dispatch(held, { type: 'done', atMs: project.clock.now().getTime() });
  await saveWrite(project, held);
}

/** Returns true if the end marker has arrived. */
async function hasEnded(project: Project, id: string): Promise<boolean> {
  const { state } = await findKnown(project, id);
  return state !== null && !['awaiting_content', 'receiving', 'expired'].includes(state.phase);
}

export function toCommitted(id: string): TeddyError {
  return new TeddyError('UNKNOWN_WRITE', 'It is committed already.', `See it: \`teddy write list ${id}\`.`);
}

/** Throws LOCKED when a living controller is receiving the session. */
function refuseReceived(found: FoundWrite, limits: Limits, nowMs: number): void {
  const { id, state, isControlled } = found;
  if (!isControlled || state === null || isOver(state.phase) || isExpired(state, limits, nowMs)) return;
  throw new TeddyError(
    'LOCKED',
    `Write session ${id} is being received by another process.`,
    `Wait for it, or give it up: \`teddy write cancel ${id}\`.`,
  );
}

/** Finalizes the received content as complete. */
export async function finalizeLeft(
  project: Project,
  id: string,
  force: boolean,
  signal?: AbortSignal,
): Promise<Finalized> {
  const isWhole = await hasEnded(project, id);
  const held = await claimWrite(project, id);
  try {
    if (isWhole) await keepEnded(project, held);
    else await dropMarker(project, held, { isPart: false });
    return await finalizeHeld(project, held, { force, signal });
  } finally {
    await held.staged.close();
  }
}

/** Discards a session in any state, with all of its content. Throws UNKNOWN_WRITE or LOCKED. */
export async function discardWrite(project: Project, id: string): Promise<void> {
  const found = await findKnown(project, id);
  const limits = await readWriteLimits(project);
  const nowMs = project.clock.now().getTime();
  refuseReceived(found, limits, nowMs);
  const { record, state } = found;
  if (record !== null && state !== null) {
    await refusePlaced(project, { record, write: openWrite(limits, nowMs, state) });
    // The process may have died between writing the new file and renaming it.
    if (state.phase === 'installing' && record.root !== null)
      await project.filesOf(record.root).removeLeftovers(record.target);
  }
  await project.writes.remove(id);
}
