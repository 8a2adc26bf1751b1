/** A command whose process was killed, and which may be running all the same. */
import { TeddyError } from '../../errors.ts';
import type { ProcessGroup } from '../../plan/journal.ts';
import type { Project } from '../../ports/project.ts';

/**
 * Whoever killed teddy may not have killed the command that it ran: what that changes is not known before it has ended. Throws LOCKED.
 * `starter`: what has started it, for a sentence.
 */
export async function refuseRunning(
  project: Project,
  root: string,
  group: ProcessGroup | null,
  { command, starter }: { command: string; starter: string },
): Promise<void> {
  const running = group === null ? [] : await project.shellOf(root).findRunning(group);
  const [first] = running;
  if (first === undefined) return;
  const what = first < 0 ? `process group ${-first}` : `outside its process group, as ${running.join(', ')}`;
  throw new TeddyError(
    'LOCKED',
    `${command} still runs (${what}); the ${starter} that started it was killed.`,
    `Wait for it, or stop it: \`kill -- ${running.join(' ')}\`.`,
  );
}
