/** What `--worktree` of `session plan` and `session execute` does before anything else. */
import type { Project } from '../../../ports/project.ts';

/** The line, by its full name: from then on it is worked on where it is checked out. */
export async function openOwnWorkTree(
  project: Project,
  selector: string | undefined,
  options: { needsPlan: boolean },
): Promise<string> {
  const { openWorkTree } = await import('../../../workflow/line/open-work-tree.ts');
  return (await openWorkTree(project, selector, options)).ref;
}
