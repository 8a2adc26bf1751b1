/** Repairs a work tree after a killed command, because the command's lock would be in the way. */
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';

export async function repair({ repository, notices }: Project, workspace: Workspace | null = repository.workspace) {
  for (const said of (await workspace?.repair()) ?? []) notices.warn(said);
}
