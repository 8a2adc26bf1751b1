/** Makes what every session of a repository shares, if it is not there yet. */
import type { Project } from '../../ports/project.ts';
import { ensureGlobal } from '../line/global-branch.ts';

/** Says what was made; null when everything was there. */
export async function initProject(project: Project): Promise<string | null> {
  await project.repository.store.ident();
  const made = await ensureGlobal(project);
  await project.repository.installAttributes();
  return made;
}
