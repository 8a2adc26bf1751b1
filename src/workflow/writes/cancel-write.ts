/** Gives a write session up: its slot is free, and its staging is gone. */
import type { Project } from '../../ports.ts';
import { happen, withWrite } from './held-write.ts';

/** Throws UNKNOWN_WRITE for one that is over, has expired, or never was. */
export async function cancelWrite(project: Project, id: string): Promise<void> {
  await withWrite(project, id, async (held) => {
    for (const effect of happen(held, { type: 'cancel' })) if (effect === 'discard') await held.staged.remove();
  });
}
