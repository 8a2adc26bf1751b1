/** Gives a write session up: its slot is free, and its staging is gone. */
import { finalizingError } from '../../write/write-errors.ts';
import type { Project } from '../../ports/project.ts';
import { dispatch, withWrite, type HeldWrite } from './held.ts';

/** Throws UNKNOWN_WRITE for one that is over, has expired, or never was; WRITE_FINALIZING when the target is replaced. */
export async function cancelWrite(project: Project, id: string): Promise<void> {
  await withWrite(
    project,
    id,
    async (held) => {
      await refusePlaced(project, held);
      for (const effect of dispatch(held, { type: 'cancel' })) if (effect === 'discard') await held.staged.remove();
    },
    { takesSlot: false },
  );
}

/** A content in its place only lacks the entry, and the file that stood there before cannot be brought back. */
export async function refusePlaced(
  project: Project,
  { record, write }: Pick<HeldWrite, 'record' | 'write'>,
): Promise<void> {
  const { phase, install } = write.state;
  if (phase === 'installed') throw finalizingError();
  if (phase !== 'installing' || install === null || record.root === null) return;
  const found = await project.filesOf(record.root).inspect(record.target);
  if (found.kind === 'file' && project.hash(found.bytes) === install.sha256) throw finalizingError();
}
