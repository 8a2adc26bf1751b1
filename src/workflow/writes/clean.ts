/** Offers recent abandoned write sessions, moves old ones into git, and cancels sessions. */
import { TeddyError } from '../../errors.ts';
import type { FoundWrite, StagedWrite } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';
import type { Limits } from '../../session/settings/write-limits.ts';
import { finalizingError } from '../../write/write-errors.ts';
import { isExpired } from '../../write/step.ts';
import { isOver, type WriteState } from '../../write/write.ts';
import { keepBytes } from '../line/keep-bytes.ts';
import { dispatch, isOrphaned, readWriteLimits, withWrite, type HeldWrite } from './held.ts';
import { toView, type WriteView } from './list.ts';

export interface CleanedWrite {
  id: string;
  target: string | null;
  /** The first blob is the received content; teddy set the others aside when it detected a crash. */
  kept: Oid[];
  /** True when its file is committed and teddy removed only the session's record. */
  isCommitted: boolean;
}

export interface Swept {
  /** The recoverable sessions. */
  orphans: WriteView[];
  cleaned: CleanedWrite[];
}

/**
 * Runs first in every command that writes. Keeps the content of a session that is over an hour old under
 * `refs/teddy/keep/writes/<id>`. Leaves a session that it cannot clear now for the next time.
 */
export async function sweepWrites(project: Project): Promise<Swept> {
  const found = await project.writes.list();
  if (found.length === 0) return { orphans: [], cleaned: [] };
  const limits = await readWriteLimits(project);
  const nowMs = project.clock.now().getTime();
  const left = found.filter((write) => isLeft(write, limits, nowMs));
  const isOld = (write: FoundWrite) => nowMs - write.savedAt.getTime() >= keptMs(write, limits);
  const cleaned = await cleanAll(project, left.filter(isOld));
  const orphans = left.filter((write) => !isOld(write) && isUnfinished(write));
  // The user did not ask for this cleanup, and the removed record of a committed session is not worth mentioning.
  const told = cleaned.filter(({ isCommitted }) => !isCommitted);
  return { orphans: orphans.map((write) => toView(write, limits, nowMs)), cleaned: told };
}

/** Clears every session that nobody holds, however young it is. */
export async function cleanWrites(project: Project): Promise<CleanedWrite[]> {
  const limits = await readWriteLimits(project);
  const nowMs = project.clock.now().getTime();
  const left = (await project.writes.list()).filter((write) => isLeft(write, limits, nowMs));
  for (const { id, record } of left.filter(({ state }) => state !== null && isPlaced(state))) {
    project.notices.warn(`${record?.target} is not committed yet: \`teddy write recover ${id} --finalize\`.`);
  }
  return cleanAll(
    project,
    left.filter(({ state }) => state === null || !isPlaced(state)),
  );
}

/**
 * Decides what to do with a write session: `held` (in use), `placed` (must be finished), `orphaned` (recoverable),
 * `old` (must be cleared), or `result` (its result stays for a while).
 */
export function judgeWrite(
  found: FoundWrite,
  limits: Limits,
  nowMs: number,
): 'held' | 'placed' | 'damaged' | 'orphaned' | 'old' | 'result' {
  const { state, isDamaged, savedAt } = found;
  if (!isLeft(found, limits, nowMs)) return 'held';
  if (state === null || isDamaged) return 'damaged';
  if (isPlaced(state)) return 'placed';
  if (nowMs - savedAt.getTime() >= keptMs(found, limits)) return 'old';
  return isUnfinished(found) ? 'orphaned' : 'result';
}

/** Returns true if nobody will resume the session. A living controller will, however long it has been silent. */
function isLeft(found: FoundWrite, limits: Limits, nowMs: number): boolean {
  const { state, isDamaged, isControlled } = found;
  if (state === null || isDamaged) return !isControlled;
  return isOver(state.phase) || isOrphaned(found) || (!isControlled && isExpired(state, limits, nowMs));
}

function keptMs({ state }: FoundWrite, limits: Limits): number {
  if (state !== null && isPlaced(state)) return Number.POSITIVE_INFINITY;
  return state?.phase === 'committed' ? limits.resultMs : limits.orphanMs;
}

/**
 * Returns true if the session may have replaced the target without committing the entry. Such a session must be
 * finished, however old it is.
 */
function isPlaced({ phase }: WriteState): boolean {
  return phase === 'installing' || phase === 'installed';
}

/** teddy reported a failed session when it failed. */
function isUnfinished({ state, tailBytes }: FoundWrite): boolean {
  return state === null ? tailBytes > 0 : !isOver(state.phase) && state.size + tailBytes > 0;
}

async function cleanAll(project: Project, found: FoundWrite[]): Promise<CleanedWrite[]> {
  const cleaned: CleanedWrite[] = [];
  for (const write of found) {
    const done = await clearWrite(project, write);
    if (done !== null) cleaned.push(done);
  }
  return cleaned;
}

/** Returns null when somebody has resumed the session, or when removing its files fails. */
export async function clearWrite(project: Project, found: FoundWrite): Promise<CleanedWrite | null> {
  try {
    // Keep the session open while reading and removing it, because bytes added in between would be lost. A damaged
    // session accepts none.
    const staged = found.state === null || found.isDamaged ? null : await project.writes.open(found.id);
    try {
      return await keepAndRemove(project, found, staged);
    } finally {
      await staged?.close();
    }
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    project.notices.warn(error.message);
    return null;
  }
}

async function keepAndRemove(
  project: Project,
  { id, record, state }: FoundWrite,
  staged: StagedWrite | null,
): Promise<CleanedWrite | null> {
  if (staged !== null && staged.state.activityAt !== state?.activityAt) return null;
  const content = await project.writes.readContent(id);
  const kept: Oid[] = [];
  const asides = content?.aside.map(({ bytes }) => bytes) ?? [];
  const whole = content === null ? [] : [Buffer.concat([content.verified, content.tail])];
  for (const bytes of [...whole, ...asides])
    if (bytes.length > 0) kept.push(await keepBytes(project, `writes/${id}`, bytes));
  await (staged === null ? project.writes.remove(id) : staged.remove());
  return { id, target: record?.target ?? null, kept, isCommitted: state?.phase === 'committed' };
}

/**
 * Gives up a write session, which frees its slot and removes its staging. Throws UNKNOWN_WRITE for a session that is
 * over, expired or never existed, and WRITE_FINALIZING while it is replacing the target.
 */
export async function cancelWrite(project: Project, id: string): Promise<void> {
  await withWrite(
    project,
    id,
    async (held) => {
      await refusePlaced(project, held);
      for (const effect of dispatch(held, { type: 'cancel' })) if (effect === 'discard') await held.staged.remove();
    },
    { takesSlot: false },
  );
}

/** Installed content only needs its entry, and teddy cannot restore the previous file. */
export async function refusePlaced(
  project: Project,
  { record, write }: Pick<HeldWrite, 'record' | 'write'>,
): Promise<void> {
  const { phase, install } = write.state;
  if (phase === 'installed') throw finalizingError();
  if (phase !== 'installing' || install === null || record.root === null) return;
  const found = await project.filesOf(record.root).inspect(record.target);
  if (found.kind === 'file' && project.hash(found.bytes) === install.sha256) throw finalizingError();
}
