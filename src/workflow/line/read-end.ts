/** The end of a line, judging by this repository's refs. */
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { mainLineRef, parseLineRef, shortRef, type Oid, type RefName } from '../../names.ts';
import { resolveArchive } from '../../session/lines/archives.ts';
import { hasLandedAsItStands } from './find-open.ts';
import { readBaseBranch, readDefaultBranches } from '../../session/lines/lines.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';

/**
 * `merged`: the session's base branch, or a default branch, contains all its commits, here or as last fetched (a squash
 * merge leaves no recognizable trace). `landed`: a landing on one of these branches contains its code. `archived`:
 * `refs/teddy/archive/` keeps it. `deleted`: its branch is gone.
 */
export type LineEnd = 'merged' | 'landed' | 'archived' | 'deleted';

/** Returns how the line ended; null when it has not. `tip` is null when the branch does not exist. */
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

/** Returns true if the line has landed; a landing archives the line as well. */
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

/** Accepts `refs/remotes/origin/main`, but not `refs/remotes/origin/main/other`. */
function isOfRemote(ref: RefName, branch: string): boolean {
  return shortRef(ref).endsWith(`/${branch}`);
}
