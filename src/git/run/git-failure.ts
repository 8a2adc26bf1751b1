/** Explains why git failed: either the data is damaged, or git itself failed, which proves nothing about the data. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { DamagedObjectError, TeddyError, tooManyFilesError } from '../../errors.ts';

export interface GitEnd {
  /** Null when a signal ended git, or git could not start. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

/** Waits for git to end and returns its failure; null when git succeeded. Starts reading git's stderr immediately. */
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

/** git's messages in the C locale about objects that are missing or invalid. */
const damage =
  /\b(?:bad|missing|corrupt(?:ed)?|broken|invalid|bogus|malformed|unparseable|mismatch)\b|(?:unable to|could not|cannot) (?:read|parse|unpack)|failed to (?:traverse|unpack|read object)|not a (?:valid )?(?:tree|commit|blob|object)|is not a \w+ object|(?:file|object) .* is empty|data stream error|(?:too-short|truncated|empty filename) in |did not match any object/i;
/** Problems with the machine, however git words them. */
const local =
  /Permission denied|Too many open files|Cannot allocate memory|[Oo]ut of memory|Input\/output error|Resource temporarily unavailable|No space left|Disk quota|Read-only file system|Operation not permitted|Interrupted system call/;

/** Returns DISK_FULL, or GIT_FAILED with git's first lines; a DamagedObjectError when git itself blamed an object. */
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
  // For a program ended by a signal, a shell reports an exit code above 128.
  const endedItself = signal === null && exitCode !== null && exitCode <= 128;
  if (endedItself && damage.test(said) && !local.test(said))
    return new DamagedObjectError(message, 'Run `git fsck` to see what is damaged.');
  return new TeddyError(
    'GIT_FAILED',
    message,
    'Check that git works here (`git --version`), and run the command again.',
  );
}

/** git prints this about the ref's own lock, without the reason. */
export const unwritten = /couldn't write '/;

export function adviseWrite(words: string): string {
  return unwritten.test(words)
    ? 'Check that there is space left on the disk, and that you may write to the repository.'
    : 'Check that you may write to the repository.';
}
