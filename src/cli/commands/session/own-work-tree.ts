/** `session plan` and `session execute` run this first when `--worktree` is given. */
import type { Project } from '../../../ports/project.ts';

/** Returns the full name of the line; from then on the command works where the line is checked out. */
export async function openOwnWorkTree(
  project: Project,
  selector: string | undefined,
  options: { needsPlan: boolean },
): Promise<string> {
  const { openWorkTree } = await import('../../../workflow/line/open-work-tree.ts');
  return (await openWorkTree(project, selector, options)).ref;
}
