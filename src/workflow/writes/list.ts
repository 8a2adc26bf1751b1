/** Lists and shows write sessions. */
import { unknownWriteError } from '../../write/write-errors.ts';
import type { FoundWrite, WriteContent } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import type { Limits } from '../../session/settings/write-limits.ts';
import { isExpired } from '../../write/step.ts';
import {
  isOver,
  isWriteId,
  toStatus,
  type Finding,
  type Phase,
  type Status,
  type WriteRecord,
  type WriteResult,
} from '../../write/write.ts';
import { findKnown, isOrphaned, readWriteLimits } from './held.ts';

export interface WriteView {
  id: string;
  status: Status;
  /** `orphaned` means that the session's controller is dead; `damaged`, that its state is unreadable. */
  stage: Phase | 'orphaned' | 'damaged';
  record: WriteRecord | null;
  /** The number of confirmed bytes of content. */
  size: number;
  /** In ISO 8601. */
  createdAt: string | null;
  savedAt: string;
  /** The number of bytes on disk that no save has confirmed. */
  tailBytes: number;
  result: WriteResult | null;
  findings: Finding[];
  /** The reason why the session failed. */
  reason: string | null;
}

/** Lists the sessions, oldest first. */
export async function listWrites(project: Project): Promise<WriteView[]> {
  const limits = await readWriteLimits(project);
  const nowMs = project.clock.now().getTime();
  const views = (await project.writes.list()).map((found) => toView(found, limits, nowMs));
  return views.toSorted((a, b) => (a.savedAt < b.savedAt ? -1 : 1));
}

/** Finds a session without extending its life. Throws UNKNOWN_WRITE. */
export async function findWrite(project: Project, id: string): Promise<WriteView> {
  const found = await findKnown(project, id);
  return toView(found, await readWriteLimits(project), project.clock.now().getTime());
}

/** Reads the received content, even from a damaged session. Throws UNKNOWN_WRITE. */
export async function showWrite(project: Project, id: string): Promise<WriteContent> {
  const content = isWriteId(id) ? await project.writes.readContent(id) : null;
  if (content === null) throw unknownWriteError();
  return content;
}

export function toView(found: FoundWrite, limits: Limits, nowMs: number): WriteView {
  const { id, record, state, savedAt, tailBytes } = found;
  const stage = toStage(found, limits, nowMs);
  return {
    id,
    status: stage === 'orphaned' ? 'active' : stage === 'damaged' ? 'failed' : toStatus(stage),
    stage,
    record,
    size: state?.size ?? 0,
    createdAt: record?.begunAt ?? null,
    savedAt: savedAt.toISOString(),
    tailBytes,
    result: state?.result ?? null,
    findings: state?.findings ?? [],
    reason: state?.reason ?? null,
  };
}

function toStage(found: FoundWrite, limits: Limits, nowMs: number): WriteView['stage'] {
  const { state, record, isDamaged } = found;
  if (state === null || record === null || isDamaged) return 'damaged';
  if (isOver(state.phase)) return state.phase;
  if (isOrphaned(found)) return 'orphaned';
  return isExpired(state, limits, nowMs) ? 'expired' : state.phase;
}
