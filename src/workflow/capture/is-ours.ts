/** Which sessions belong to this repository, and which of their units are left out. */
import type { Project } from '../../ports/project.ts';
import type { Capture } from '../../ports/agent-logs.ts';

/** A session belongs to the repository in which it began, in any of its work trees. */
export async function isOurSession(
  { repository }: Project,
  { logs }: Pick<Capture, 'logs'>,
  cwd: string | null,
  /** The directory in which a hook noted it here. */
  hooked: string | null = null,
): Promise<boolean> {
  if (cwd === null) return false;
  const roots = (await repository.workTrees()).map(({ root }) => root);
  const top = await logs.topOf(cwd);
  if (top !== null) return roots.includes(top);
  // The directory is gone, as that of a work tree that was removed: a hook that was called in it vouches for it.
  const real = await logs.realPath(cwd);
  if (real === hooked) return true;
  return roots.some((root) => `${real}/`.startsWith(`${root}/`));
}

/** Whether capturing was paused at a time. */
export async function openPauses({ spool }: Pick<Project, 'spool'>): Promise<(time: unknown) => boolean> {
  const pauses = await spool.pauses();
  return (time) => {
    const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    return pauses.some(({ from, to }) => ms >= from && (to === null || ms < to));
  };
}

/** The state that says that a session is left out: TEDDY_CAPTURE=0 was set where it ran. */
export function leftOutKey(agent: string, id: string): string {
  return `left-out/${agent}/${id}`;
}
