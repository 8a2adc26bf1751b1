/** Keeps a line under `refs/teddy/archive/`, where it stays when its branch goes. */
import type { Project } from '../../ports/project.ts';
import { archiveRef, mainLineRef, parseLineRef, shortRef, type RefName, type SessionId } from '../../names.ts';
import { chooseMain, listLines } from '../../session/lines.ts';
import { isOnLine } from '../../session/ancestry.ts';
import type { LandableLine } from './landing.ts';

/** One of several processes moves it first; each of the others looks again. */
const maxAttempts = 10;

/**
 * Finds the ref that keeps a line: named after its branch, and after its session where the main line goes by another name. Null
 * when it is one of several branches that have names of their own.
 */
async function findArchiveRef(
  project: Project,
  { ref, session }: { ref: RefName; session: SessionId },
): Promise<RefName | null> {
  if (parseLineRef(ref)?.session === session) return archiveRef(ref);
  const lines = (await listLines(project)).filter((line) => line.session === session && line.remote === null);
  const main = chooseMain(lines);
  return main?.ref === ref && main.branch === null ? archiveRef(mainLineRef(session)) : null;
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
  const kept = await findArchiveRef(project, { ref, session });
  if (kept === null) {
    if (ref.startsWith('refs/heads/'))
      project.notices.warn(`${name} has a name of its own and is not archived: keep the branch to keep its turns.`);
    return null;
  }
  const { store } = project.repository;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const old = await store.resolve(kept);
    if (old !== null && (await isOnLine(store, old, tip))) return { ref: kept, isNew: false };
    if (old !== null && !(await isOnLine(store, tip, old))) break;
    if ((await store.updateRefs([{ ref: kept, old, new: tip }], `teddy: keep ${shortRef(ref)}`)) === 'done')
      return { ref: kept, isNew: true };
  }
  project.notices.warn(
    `${kept} holds other commits than ${name} and was left as it is: keep the branch to keep its turns.`,
  );
  return null;
}
