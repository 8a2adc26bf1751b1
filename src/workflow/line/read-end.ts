/** Whether a line has come to its end, as far as the refs of this repository say. */
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { mainLineRef, parseLineRef, shortRef, type Oid, type RefName } from '../../names.ts';
import { resolveArchive } from '../../session/lines/archives.ts';
import { hasLandedAsItStands } from './find-open.ts';
import { readBaseBranch, readDefaultBranches } from '../../session/lines/lines.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';

/**
 * `merged`: every commit of it is in the branch that the session started from or in the default branch, here or as last
 * fetched (a squash merge leaves no trace that could be told from another commit). `landed`: a landing there has brought
 * its code. `archived`: `refs/teddy/archive/` has it. `deleted`: its branch is gone.
 */
export type LineEnd = 'merged' | 'landed' | 'archived' | 'deleted';

/** `tip` null: there is no such branch. */
export async function readEnd(project: Project, ref: RefName, tip: Oid | null): Promise<LineEnd | null> {
  const { store } = project.repository;
  const session = parseLineRef(ref)?.session;
  const archived = session === undefined ? null : await resolveArchive(store, mainLineRef(session));
  if (tip === null) return archived === null ? 'deleted' : 'archived';
  if (archived !== null && (await store.isAncestor(tip, archived)))
    return (await hasLanded(project, tip)) ? 'landed' : 'archived';
  for (const { oid } of await readBases(project, ref, tip)) if (await store.isAncestor(tip, oid)) return 'merged';
  return null;
}

/** A landing keeps the line in the archive as well. */
async function hasLanded(project: Project, tip: Oid): Promise<boolean> {
  const nearest = await findNearestEntry(project, tip);
  return nearest !== null && hasLandedAsItStands(project, { oid: tip, session: nearest.entry.session, nearest });
}

async function readBases(project: Project, ref: RefName, tip: Oid): Promise<RefTip[]> {
  const branch = await readBaseBranch(project, tip);
  const { store } = project.repository;
  const started = branch === null ? [] : await store.listRefs(`refs/heads/${branch}`, `refs/remotes/*/${branch}`);
  const named = started.filter((one) => one.ref === `refs/heads/${branch}` || isOfRemote(one.ref, branch ?? ''));
  return [...named, ...(await readDefaultBranches(project))].filter((one) => one.ref !== ref);
}

/** `refs/remotes/origin/main`, and not `refs/remotes/origin/main/other`. */
function isOfRemote(ref: RefName, branch: string): boolean {
  return shortRef(ref).endsWith(`/${branch}`);
}
