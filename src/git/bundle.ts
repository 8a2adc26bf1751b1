/** Opens a git bundle as a separate repository, in a temporary directory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { Repository } from '../ports/git.ts';
import { openRepository } from './repository.ts';
import { gitRunner, toChildEnvironment, type Environment } from './run/run.ts';

/**
 * Opens the bundle at `path`, which is relative to the user's `cwd`. `close` removes the directory. Throws
 * BAD_RECORDING when the file is not a self-contained bundle.
 */
export async function openBundle(path: string, { cwd, env }: { cwd: string; env: Environment }): Promise<Repository> {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-bundle-'));
  const remove = () => rm(dir, { recursive: true, force: true });
  try {
    const git = gitRunner(dir, toChildEnvironment(env));
    const { exitCode, stderr } = await git.run(['clone', '--quiet', '--mirror', resolve(cwd, path), dir], {
      accept: [1, 128],
    });
    if (exitCode !== 0) {
      throw new TeddyError(
        'BAD_RECORDING',
        `${path} cannot be read as a git bundle: ${toReason(stderr)}`,
        'Make one with `git bundle create <file> teddy/<session>`.',
      );
    }
    const repository = await openRepository({
      cwd: dir,
      env: { ...env, GIT_DIR: undefined, GIT_WORK_TREE: undefined },
    });
    const close = async () => {
      await repository.close();
      await remove();
    };
    return { ...repository, close };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Finds git's reason, which git prints before the line about giving up. */
function toReason(stderr: string): string {
  if (stderr.includes('prerequisite commits')) return 'it builds on commits that it does not contain.';
  return (
    stderr
      .trim()
      .split('\n')
      .find((line) => /^(?:error|fatal): /.test(line)) ?? 'git cannot clone it.'
  );
}
