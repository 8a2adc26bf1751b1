/** What a command that was killed has left is put right first: a lock of its would be in the way. */
import type { Project } from '../../ports/project.ts';

export async function repairHere({ repository, notices }: Project): Promise<void> {
  for (const said of (await repository.workspace?.repair()) ?? []) notices.warn(said);
}
