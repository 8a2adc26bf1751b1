/** Write sessions that nobody goes on with: the recent ones are offered, the old ones are cleared away, and kept in git. */
import { TeddyError } from '../../errors.ts';
import type { FoundWrite, Project } from '../../ports.ts';
import type { Oid } from '../../session/names.ts';
import type { Limits } from '../../write/limits.ts';
import { isExpired } from '../../write/step.ts';
import { isOver } from '../../write/write.ts';
import { keepBytes } from '../keep-bytes.ts';
import { isOrphaned, readWriteLimits } from './held-write.ts';
import { toView, type WriteView } from './list-writes.ts';

export interface CleanedWrite {
  id: string;
  target: string | null;
  /** Blobs of what was received; the first is the content, others were set aside when a crash was found. */
  kept: Oid[];
}

export interface Swept {
  /** They can be gone on with. */
  orphans: WriteView[];
  cleaned: CleanedWrite[];
}

/**
 * What a command that writes does first. What was received by a session over an hour old is kept under
 * `refs/teddy/keep/writes/<id>`. One that cannot be cleared now is left for the next time.
 */
export async function sweepWrites(project: Project): Promise<Swept> {
  const found = await project.writes.list();
  if (found.length === 0) return { orphans: [], cleaned: [] };
  const limits = await readWriteLimits(project);
  const nowMs = project.clock.now().getTime();
  const left = found.filter((write) => isLeft(write, limits, nowMs));
  const isOld = ({ savedAt, state }: FoundWrite) =>
    nowMs - savedAt.getTime() >= (state?.phase === 'committed' ? limits.resultMs : limits.orphanMs);
  const cleaned = await cleanAll(project, left.filter(isOld));
  const orphans = left.filter((write) => !isOld(write) && write.state?.phase !== 'committed' && hasContent(write));
  return { orphans: orphans.map((write) => toView(write, limits, nowMs)), cleaned };
}

/** Clears away all that nobody holds, however young it is. */
export async function cleanWrites(project: Project): Promise<CleanedWrite[]> {
  const limits = await readWriteLimits(project);
  const nowMs = project.clock.now().getTime();
  return cleanAll(
    project,
    (await project.writes.list()).filter((write) => isLeft(write, limits, nowMs)),
  );
}

/** Nobody holds it. */
function isLeft(found: FoundWrite, limits: Limits, nowMs: number): boolean {
  const { state, isDamaged } = found;
  if (state === null || isDamaged) return true;
  return isOver(state.phase) || isOrphaned(found) || isExpired(state, limits, nowMs);
}

function hasContent({ state, tailBytes }: FoundWrite): boolean {
  return (state?.size ?? 0) + tailBytes > 0;
}

async function cleanAll(project: Project, found: FoundWrite[]): Promise<CleanedWrite[]> {
  const cleaned: CleanedWrite[] = [];
  for (const write of found) {
    const done = await clean(project, write);
    if (done !== null) cleaned.push(done);
  }
  // The tombstone of what was committed is nothing to speak of.
  return cleaned.filter(({ id }) => found.find((write) => write.id === id)?.state?.phase !== 'committed');
}

/** Null: another process has it, or its files cannot be removed. */
async function clean(project: Project, { id, record, state }: FoundWrite): Promise<CleanedWrite | null> {
  const isKept = state?.phase === 'committed' || state?.phase === 'cancelled';
  const content = isKept ? null : await project.writes.readContent(id);
  const kept: Oid[] = [];
  const parts =
    content === null ? [] : [join(content.verified, content.tail), ...content.aside.map(({ bytes }) => bytes)];
  for (const bytes of parts) if (bytes.length > 0) kept.push(await keepBytes(project, `writes/${id}`, bytes));
  try {
    await project.writes.remove(id);
    return { id, target: record?.target ?? null, kept };
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    project.notices.warn(error.message);
    return null;
  }
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
