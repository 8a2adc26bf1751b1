/** Moves the branch of a work tree forward, with git's own care for what somebody has changed there. */
import { TeddyError } from '../errors.ts';
import type { Oid, RefName } from '../names.ts';
import { readHeadCommit, runCheckout, type CheckoutOptions } from './checkout.ts';
import { readHeadRef } from './layout.ts';

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

/** git sees that the branch is locked when it has written all files: so it is asked before. */
export async function fastForward(options: CheckoutOptions, to: Oid): Promise<void> {
  const { git, store, layout } = options;
  const from = await readHeadCommit(store, layout);
  const ref = (await readHeadRef(git)) ?? ('HEAD' as RefName);
  const { exitCode, stderr } = await runCheckout(options, { ref, from, to }, [
    { args: ['update-ref', '--stdin'], input: `start\nupdate HEAD ${to}\nprepare\nabort\n` },
    { args: ['merge', ...flags, '--no-overwrite-ignore', to], env: { GIT_REFLOG_ACTION: 'teddy' } },
  ]);
  if (exitCode !== 0) throw toRefusal(to, stderr);
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
