/** Why a git that was started did not do its work: what it read is damaged, or it failed itself, which says nothing of what it read. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { DamagedObjectError, TeddyError, tooManyFilesError } from '../../errors.ts';

export interface GitEnd {
  /** Null: a signal ended it, or it could not be started. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

/** How a git ends: null when it has done its work. Listens to its stderr from now on. */
export function failureOf(command: string, child: ChildProcessWithoutNullStreams): Promise<TeddyError | null> {
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  return new Promise((resolve) => {
    const fail = (end: GitEnd) => resolve(toGitFailure(command, end));
    child.on('error', (error) => fail({ exitCode: null, signal: null, stderr: error.message }));
    child.on('close', (exitCode, signal) =>
      exitCode === 0 ? resolve(null) : fail({ exitCode, signal, stderr: said }),
    );
  });
}

/** git's own words in the C locale, for objects that are missing or not what they should be. */
const damage =
  /\b(?:bad|missing|corrupt(?:ed)?|broken|invalid|bogus|malformed|unparseable|mismatch)\b|(?:unable to|could not|cannot) (?:read|parse|unpack)|failed to (?:traverse|unpack|read object)|not a (?:valid )?(?:tree|commit|blob|object)|is not a \w+ object|(?:file|object) .* is empty|data stream error|(?:too-short|truncated|empty filename) in |did not match any object/i;
/** The machine's own troubles, in whatever words git tells them. */
const local =
  /Permission denied|Too many open files|Cannot allocate memory|[Oo]ut of memory|Input\/output error|Resource temporarily unavailable|No space left|Disk quota|Read-only file system|Operation not permitted|Interrupted system call/;

/** DISK_FULL, or GIT_FAILED with git's first words; a DamagedObjectError where git ended by itself and said that an object is to blame. */
export function toGitFailure(command: string, { exitCode, signal, stderr }: GitEnd): TeddyError {
  const end = signal !== null ? `${signal} ended it` : `exit code ${exitCode}`;
  const said = stderr.trim().split('\n').slice(0, 4).join(' ') || end;
  if (/No space left on device|Disk quota exceeded/i.test(said))
    return new TeddyError(
      'DISK_FULL',
      `git ${command}: ${said}`,
      'Free some space and run the command again; nothing was lost.',
    );
  if (/Too many open files/i.test(said)) return tooManyFilesError(new Error(said));
  const message = `git ${command} failed: ${said}`;
  // Exit codes above 128 are those of a shell for a program that a signal has ended.
  const endedItself = signal === null && exitCode !== null && exitCode <= 128;
  if (endedItself && damage.test(said) && !local.test(said))
    return new DamagedObjectError(message, 'Run `git fsck` to see what is damaged.');
  return new TeddyError(
    'GIT_FAILED',
    message,
    'See whether git works here: `git --version`. Then run the command again.',
  );
}

/** git names a ref's own lock so, and not the reason. */
export const unwritten = /couldn't write '/;

export function adviseWrite(words: string): string {
  return unwritten.test(words)
    ? 'See whether there is space left here, and who may write in the repository.'
    : 'See who may write in the repository here.';
}
