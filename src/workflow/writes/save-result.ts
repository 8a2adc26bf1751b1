/** What is left to do on disk once the entry is on its line. Nothing that the disk refuses here undoes that. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { keepBytes } from '../line/keep-bytes.ts';
import type { HeldWrite } from './held.ts';

/** Warns where it cannot be saved. */
export async function saveResult(project: Project, held: HeldWrite): Promise<void> {
  await warnIfRefused(project, held, () => held.staged.save(new Uint8Array(), held.write.state));
}

/** Warns where it cannot be removed. */
export async function discardContent(project: Project, held: HeldWrite): Promise<void> {
  await keepTails(project, held);
  // Where the disk does not say that it is committed, it would be offered once more.
  const isTold = held.staged.state.phase === 'committed';
  await warnIfRefused(project, held, () => (isTold ? held.staged.dropContent() : held.staged.remove()));
}

async function warnIfRefused(project: Project, held: HeldWrite, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof TeddyError) || !['DISK_FULL', 'WRITE_FAILED'].includes(error.code)) throw error;
    if (!held.isFailing) project.notices.warn(`${held.record.target} is committed, but: ${error.message}`);
    held.isFailing = true;
  }
}

/** What no save had confirmed is in no commit. */
async function keepTails(project: Project, { record }: HeldWrite): Promise<void> {
  for (const { bytes } of (await project.writes.readContent(record.id))?.aside ?? []) {
    const oid = await keepBytes(project, `writes/${record.id}`, bytes);
    project.notices.info(
      `${bytes.length} bytes that no save had confirmed are kept: \`git cat-file -p ${oid.slice(0, 10)}\`.`,
    );
  }
}
