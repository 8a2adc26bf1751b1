/** Whether git is new enough: `cat-file --batch-command -z` came with 2.38. */
import { TeddyError } from '../errors.ts';
import type { GitRunner } from './run.ts';

const minimumVersion = [2, 38] as const;

/** For whoever was refused by git. Throws GIT_TOO_OLD, GIT_MISSING. */
export async function refuseOldGit(git: Pick<GitRunner, 'text'>): Promise<void> {
  const text = await git.text(['version']);
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text) ?? []).slice(1).map(Number);
  if (major > minimumVersion[0] || (major === minimumVersion[0] && minor >= minimumVersion[1])) return;
  throw new TeddyError(
    'GIT_TOO_OLD',
    `teddy needs git ${minimumVersion.join('.')} or newer; this is ${text}.`,
    'Update git.',
  );
}
