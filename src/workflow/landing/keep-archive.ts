/** Keeps a line under `refs/teddy/archive/`, where it stays when its branch goes. */
import type { Project } from '../../ports.ts';
import { archiveRef, parseLineRef, shortRef, type RefName } from '../../session/names.ts';
import { isOnLine } from '../line-ancestry.ts';
import type { LandableLine } from './land-session.ts';

/** Of several processes one moves it first; each of the others looks again. */
const maxAttempts = 10;

/** Where the line is kept; null for what has no name to be kept by. It only ever moves forward. */
export async function keepArchive(project: Project, { ref, name, tip }: LandableLine): Promise<RefName | null> {
  if (parseLineRef(ref) === null) {
    if (ref.startsWith('refs/heads/'))
      project.notices.warn(
        `${name} is not named as lines are, and is not archived: keep the branch to keep its turns.`,
      );
    return null;
  }
  const { store } = project.repository;
  const kept = archiveRef(ref);
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const old = await store.resolve(kept);
    if (old !== null && (await isOnLine(store, old, tip))) return kept;
    if (old !== null && !(await isOnLine(store, tip, old))) break;
    if ((await store.updateRefs([{ ref: kept, old, new: tip }], `teddy: keep ${shortRef(ref)}`)) === 'done')
      return kept;
  }
  project.notices.warn(
    `${kept} holds other commits than ${name} and was left as it is: keep the branch to keep its turns.`,
  );
  return null;
}
