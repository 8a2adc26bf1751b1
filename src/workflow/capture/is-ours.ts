/** Which sessions belong to this repository, and which of their units are left out. */
import type { AgentUnit } from '../../conversation/agent-log.ts';
import type { Project } from '../../ports/project.ts';
import type { Capture } from '../../ports/agent-logs.ts';

/** A session belongs to the repository in which it began, in any of its work trees. */
export async function isOurSession(
  { repository }: Project,
  { logs }: Pick<Capture, 'logs'>,
  cwd: string | null,
): Promise<boolean> {
  if (cwd === null) return false;
  const roots = (await repository.workTrees()).map(({ root }) => root);
  const top = await logs.topOf(cwd);
  if (top !== null) return roots.includes(top);
  // The directory is gone, as that of a work tree that was removed.
  return roots.some((root) => `${cwd}/`.startsWith(`${root}/`));
}

/** Capturing was paused when it came about. */
export function isLeftOut(_unit: AgentUnit): boolean {
  return false;
}
