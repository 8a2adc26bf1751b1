/** Names that are those of other files on macOS and Windows. What git ignores is in no clone, and is nobody's twin. */
import type { Inspect } from '../../plan/virtual-files.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RepoPath } from '../../names.ts';

/** Null: no file that git sees has a name that differs from this one only in case or Unicode form. */
export async function findTwin(project: Project, workspace: Workspace, path: RepoPath): Promise<RepoPath | null> {
  const twin = await project.filesOf(workspace.root).findTwin(path);
  return twin === null || (await workspace.ignored([twin])).length > 0 ? null : twin;
}

/** Also says of a path that is absent whether it has a twin. */
export function inspectWithTwins(project: Project, workspace: Workspace): Inspect {
  const { inspect } = project.filesOf(workspace.root);
  return async (path) => {
    const found = await inspect(path);
    const twin = found.kind === 'absent' ? await findTwin(project, workspace, path) : null;
    return found.kind === 'absent' && twin !== null ? { ...found, twin } : found;
  };
}
