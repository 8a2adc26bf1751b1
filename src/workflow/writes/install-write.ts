/** Puts a finished content in the place of its target, if that is still as it was when the session began. */
import { TeddyError } from '../../errors.ts';
import type { Project, Workspace } from '../../ports.ts';
import type { Install, WriteRecord } from '../../write/write.ts';
import { inspectTarget, refusePartlyStaged, type Target } from './inspect-target.ts';

/** `unprepared`: the target is as it was, and `final` is not there to be put in its place. */
export async function installWrite(
  project: Project,
  workspace: Workspace,
  record: WriteRecord,
  { sha256 }: Install,
  final: Uint8Array | null,
): Promise<'installed' | 'unprepared'> {
  const files = project.filesOf(workspace.root);
  const target = await inspectTarget(project, workspace, record.target);
  // A crash came between the two: it stands there already.
  if (target.bytes !== null && project.hash(target.bytes) === sha256) {
    await files.removeLeftovers(record.target);
    return 'installed';
  }
  requireBase(project, record, target);
  if (final === null) {
    await files.removeLeftovers(record.target);
    return 'unprepared';
  }
  if (record.line !== null) await refusePartlyStaged(workspace, record.target);
  if (record.base !== null) await files.install(record.target, final);
  else if ((await files.installNew(record.target, final)) === 'exists') throw toTargetChanged(record);
  return 'installed';
}

/** Throws TARGET_CHANGED. */
export function requireBase(project: Project, record: WriteRecord, { bytes }: Target): void {
  const sha256 = bytes === null ? null : project.hash(bytes);
  if (sha256 !== (record.base?.sha256 ?? null)) throw toTargetChanged(record);
}

export function toTargetChanged({ id, target }: WriteRecord): TeddyError {
  return new TeddyError(
    'TARGET_CHANGED',
    'Target changed since the session began.',
    `${target} was left as it is. \`teddy write recover ${id} --output <file>\` writes the content elsewhere.`,
  );
}
