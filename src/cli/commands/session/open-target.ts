/** Opens the target of `verify` and `replay`: anything that git resolves under that name, otherwise a bundle file. */
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openBundled } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { readWorkingDirectory, type CliContext } from '../../context.ts';

/**
 * Returns the repository of the bundle, which the caller must close, or null when the target is not a bundle. Throws
 * BAD_RECORDING, UNKNOWN_SESSION or AMBIGUOUS_SESSION.
 */
export async function openIfBundle(
  context: CliContext,
  here: Project,
  target: string | undefined,
): Promise<Project | null> {
  const cwd = readWorkingDirectory(context);
  if (target === undefined || !(await startsBundle(resolve(cwd, target)))) return null;
  if (!isPath(target) && (await isKnown(here, target))) return null;
  const bundled = await openBundled(here, target, { cwd, env: context.env });
  const { listRecorded } = await import('../../../workflow/line/find-recorded.ts');
  if ((await listRecorded(bundled)).length > 0) return bundled;
  await bundled.repository.close();
  const hint = 'Make one with `git bundle create <file> teddy/<session>`.';
  throw new TeddyError('UNKNOWN_SESSION', `The bundle ${target} contains no session.`, hint);
}

/**
 * Returns true if the target must be a path, because no name in git begins like this. teddy looks up other targets in
 * git first: a file in a checkout may come from somebody else, and must never hide a branch with its name.
 */
function isPath(target: string): boolean {
  return /^\.{0,2}\//.test(target);
}

async function isKnown(here: Project, target: string): Promise<boolean> {
  const { findRecorded } = await import('../../../workflow/line/find-recorded.ts');
  try {
    await findRecorded(here, target);
    return true;
  } catch (error) {
    const isUnknown = error instanceof TeddyError && ['UNKNOWN_SESSION', 'UNKNOWN_COMMIT'].includes(error.code);
    if (!isUnknown) throw error;
    return false;
  }
}

async function startsBundle(path: string): Promise<boolean> {
  // Does not open a pipe, because a read from it might wait forever.
  if (!(await stat(path).catch(() => null))?.isFile()) return false;
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return /^# v[23] git bundle\n/.test(buffer.toString('latin1', 0, bytesRead));
  } finally {
    await file.close();
  }
}
