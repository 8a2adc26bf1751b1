/** Brings a session back that was archived. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { mainLineRef, shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { listArchives } from '../../session/archives.ts';
import { findRecorded } from '../line/find-recorded.ts';

export interface RestoredSession {
  session: SessionId;
  /** Those that were made; a branch that was there is left as it is. */
  lines: { branch: RefName; archive: RefName; tip: Oid }[];
}

/**
 * Makes the branches again that an archive keeps, where they are not there; the archive stays. Throws UNKNOWN_SESSION where
 * nothing is archived.
 */
export async function restoreArchived(project: Project, target: string): Promise<RestoredSession> {
  const { store } = project.repository;
  const { session } = await findRecorded(project, target);
  const archives = (await listArchives(store)).filter((one) => one.session === session);
  const kept = archives.map(({ line, ref, oid }) => ({ branch: line, archive: ref, tip: oid }));
  if (kept.length === 0) throw toNotArchived(session);
  const there = new Set((await store.listRefs('refs/heads/teddy/')).map(({ ref }) => ref));
  const lines = kept.filter(({ branch }) => !there.has(branch));
  const updates = lines.map(({ branch, tip }) => ({ ref: branch, old: null, new: tip }));
  if (updates.length === 0) return { session, lines };
  if ((await store.updateRefs(updates, `teddy: restored ${session}`)) === 'done') return { session, lines };
  const hint = 'Run the command again.';
  throw new TeddyError('REF_MOVED', `Somebody has made ${shortRef(mainLineRef(session))} meanwhile.`, hint);
}

function toNotArchived(session: SessionId): TeddyError {
  const hint = '`git for-each-ref refs/teddy/archive/` shows what is.';
  return new TeddyError('UNKNOWN_SESSION', `Nothing is archived of ${session}.`, hint);
}
