/** Keeps a line under `refs/teddy/archive/`, where it stays when its branch goes. */
import type { Project } from '../../ports/project.ts';
import { archiveRef, mainLineRef, parseLineRef, shortRef, type RefName, type SessionId } from '../../names.ts';
import { chooseMain, listLines } from '../../session/lines.ts';
import { planArchive } from '../../session/archives.ts';
import type { LandableLine } from './landing.ts';
import { moveRefs } from '../line/move-refs.ts';

/**
 * Finds the name by which a line is kept: that of its branch, and that of its session where the main line goes by another
 * name. Null when it is one of several branches that have names of their own.
 */
async function findKeptLine(
  project: Project,
  { ref, session }: { ref: RefName; session: SessionId },
): Promise<RefName | null> {
  if (parseLineRef(ref)?.session === session) return ref;
  const lines = (await listLines(project)).filter((line) => line.session === session && line.remote === null);
  const main = chooseMain(lines);
  return main?.ref === ref && main.branch === null ? mainLineRef(session) : null;
}

/** `isNew`: it was not kept as far as that before. */
export interface KeptArchive {
  ref: RefName;
  isNew: boolean;
}

/** Where the line is kept; null for what has no name to be kept by. It only ever moves forward. */
export async function keepArchive(
  project: Project,
  { ref, name, tip, session }: LandableLine,
): Promise<KeptArchive | null> {
  const kept = await findKeptLine(project, { ref, session });
  if (kept === null) {
    if (ref.startsWith('refs/heads/'))
      project.notices.warn(`${name} has a name of its own and is not archived: keep the branch to keep its turns.`);
    return null;
  }
  const { store } = project.repository;
  let planned: Awaited<ReturnType<typeof planArchive>> | null = null;
  const toMoves = async () => {
    const { update, inTheWay } = (planned = await planArchive(store, kept, tip));
    return inTheWay !== null || update.old === update.new ? [] : [update];
  };
  const isKept = await moveRefs(project, toMoves, `keep ${shortRef(ref)}`);
  const { update, inTheWay } = planned ?? (await planArchive(store, kept, tip));
  if (isKept && inTheWay === null) return { ref: update.ref, isNew: update.old !== update.new };
  project.notices.warn(
    `${archiveRef(kept)} holds other commits than ${name} and was left as it is: keep the branch to keep its turns.`,
  );
  return null;
}
