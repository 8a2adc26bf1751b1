/** Puts a finished content in the place of its target, if that is still as it was when the session began. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Install, WriteRecord } from '../../write/write.ts';
import { keepBase } from './keep-base.ts';
import { inspectTarget, refusePartlyStaged, type Target } from './inspect-target.ts';

/** `unprepared`: the target is as it was, and `final` is not there to be put in its place. */
export async function installWrite(
  project: Project,
  workspace: Workspace,
  record: WriteRecord,
  install: Install,
  final: Uint8Array | null,
): Promise<'installed' | 'unprepared'> {
  const { sha256 } = install;
  const files = project.filesOf(workspace.root);
  const target = await inspectTarget(project, workspace, record.target);
  // A crash came between the two: it stands there already.
  if (isInPlace(project, record, sha256, target)) {
    await files.removeLeftovers(record.target);
    return 'installed';
  }
  requireBase(project, record, target);
  if (final === null) {
    await files.removeLeftovers(record.target);
    return 'unprepared';
  }
  if (record.line !== null) await refusePartlyStaged(workspace, record.target);
  if (record.base !== null) await keepBase(project, workspace, record, install);
  if (record.base !== null) await files.install(record.target, final);
  else if ((await files.installNew(record.target, final)) === 'exists') throw toTargetChanged(record);
  return 'installed';
}

/** Throws TARGET_CHANGED. */
export function requireBase(project: Project, record: WriteRecord, { path, bytes }: Target): void {
  const sha256 = bytes === null ? null : project.hash(bytes);
  // By way of a link that came since, it would be another file.
  if (path !== record.target || sha256 !== (record.base?.sha256 ?? null)) throw toTargetChanged(record);
}

/** The target is what was to be installed, and stands at its own path. */
export function isInPlace(project: Project, { target }: WriteRecord, sha256: string, { path, bytes }: Target): boolean {
  return path === target && bytes !== null && project.hash(bytes) === sha256;
}

export function toTargetChanged({ id, target }: WriteRecord): TeddyError {
  return new TeddyError(
    'TARGET_CHANGED',
    'Target changed since the session began.',
    `${target} was left as it is. \`teddy write recover ${id} --output <file>\` writes the content elsewhere.`,
  );
}
