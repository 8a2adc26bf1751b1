/** Moves the branch of a work tree forward, with git's own care for what somebody has changed there. */
import { TeddyError } from '../errors.ts';
import type { Oid } from '../session/names.ts';
import type { GitRunner } from './run.ts';

/** Each of them may be set the other way round in the branch's `mergeOptions`, or in git's configuration. */
const flags = [
  '--ff-only',
  '--no-autostash',
  '--no-squash',
  '--commit',
  '--no-edit',
  '--no-stat',
  '--quiet',
  '--no-verify-signatures',
];

export async function fastForward(git: GitRunner, commit: Oid): Promise<void> {
  await refuseLocked(git, commit);
  const { exitCode, stderr } = await git.run(['merge', ...flags, '--no-overwrite-ignore', commit], {
    env: { GIT_REFLOG_ACTION: 'teddy' },
    accept: [1, 2, 128],
  });
  if (exitCode !== 0) throw toRefusal(commit, stderr);
}

/** git sees that the branch is locked when it has written all files. */
async function refuseLocked(git: GitRunner, commit: Oid): Promise<void> {
  const input = `start\nupdate HEAD ${commit}\nprepare\nabort\n`;
  const { exitCode, stderr } = await git.run(['update-ref', '--stdin'], { input, accept: [1, 128] });
  if (exitCode !== 0) throw toRefusal(commit, stderr);
}

function toRefusal(commit: Oid, stderr: string): TeddyError {
  const said = stderr
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('hint:'))
    .slice(0, 6)
    .map((line) => line.trim())
    .join(' ');
  const message = `git did not fast-forward to ${commit.slice(0, 10)}: ${said}`;
  if (/Not possible to fast-forward|Diverging branches|cannot lock ref .* but expected/.test(stderr))
    return new TeddyError('REF_MOVED', message, 'The branch has moved meanwhile: run the command again.');
  if (/\.lock': File exists/.test(stderr)) {
    const hint =
      'Wait for the other git process. If none is running any more, remove the file and run the command again.';
    return new TeddyError('LOCKED', message, hint);
  }
  if (/not concluded|unmerged files|unresolved conflict/.test(stderr)) {
    const hint = 'Finish or abort it with git (`git status` shows how), then run the command again.';
    return new TeddyError('OPERATION_IN_PROGRESS', message, hint);
  }
  if (/would be overwritten|not uptodate|would be removed|would lose untracked files/.test(stderr)) {
    const hint = 'Commit or stash those edits, or move those files away, and run the command again.';
    return new TeddyError('FILES_IN_THE_WAY', message, hint);
  }
  return new TeddyError(
    /No space left on device|Disk quota exceeded/i.test(stderr) ? 'DISK_FULL' : 'GIT_FAILED',
    message,
  );
}
