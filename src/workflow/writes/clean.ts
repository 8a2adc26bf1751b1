/** Offers recent write sessions that nobody goes on with, clears old ones away into git, and gives one up. */
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
  /** The first blob is the received content; others were set aside when a crash was found. */
  kept: Oid[];
  /** Its file is committed: what went is the record of that. */
  isCommitted: boolean;
}

export interface Swept {
  /** These can be recovered. */
  orphans: WriteView[];
  cleaned: CleanedWrite[];
}

/**
 * Runs first in every command that writes. The content of a session over an hour old is kept under
 * `refs/teddy/keep/writes/<id>`. A session that cannot be cleared now is left for the next time.
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
  // Nobody asked, and the record of a committed session deserves no word.
  const told = cleaned.filter(({ isCommitted }) => !isCommitted);
  return { orphans: orphans.map((write) => toView(write, limits, nowMs)), cleaned: told };
}

/** Clears away every session that nobody holds, however young it is. */
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
 * Says what should become of a write session. `held`: somebody goes on with it. `placed`: it should be finished. `orphaned`: it
 * can be recovered. `old`: it should be cleared away. `result`: its result is kept for a while.
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

/** Nobody goes on with the session. A living controller does, however long it has been silent. */
function isLeft(found: FoundWrite, limits: Limits, nowMs: number): boolean {
  const { state, isDamaged, isControlled } = found;
  if (state === null || isDamaged) return !isControlled;
  return isOver(state.phase) || isOrphaned(found) || (!isControlled && isExpired(state, limits, nowMs));
}

function keptMs({ state }: FoundWrite, limits: Limits): number {
  if (state !== null && isPlaced(state)) return Number.POSITIVE_INFINITY;
  return state?.phase === 'committed' ? limits.resultMs : limits.orphanMs;
}

/** The target may be replaced, and only the entry missing. Somebody has to finish that, however old it is. */
function isPlaced({ phase }: WriteState): boolean {
  return phase === 'installing' || phase === 'installed';
}

/** A session that failed was reported then. */
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

/** Null when somebody goes on with the session by now, or its files cannot be removed. */
export async function clearWrite(project: Project, found: FoundWrite): Promise<CleanedWrite | null> {
  try {
    // The session is held while it is read and removed, since bytes that are added meanwhile would be lost. A damaged one takes none.
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

/** Gives a write session up: its slot is free, and its staging is gone. Throws UNKNOWN_WRITE for one that is over, has expired, or never was; WRITE_FINALIZING when the target is replaced. */
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

/** A content in its place only lacks the entry, and the file that stood there before cannot be brought back. */
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
