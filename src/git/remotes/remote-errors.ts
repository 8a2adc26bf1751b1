/** Turns git's messages about a failed transfer into an error with a hint. The other side's messages have no effect. */
import { TeddyError } from '../../errors.ts';
import type { RemoteResult } from './remote-call.ts';
import { adviseWrite, unwritten } from '../run/git-failure.ts';
import { isOverlap } from '../run/run.ts';

/** Failures that may not recur on the next attempt. */
const passing =
  /Could not resolve host|Name or service not known|Temporary failure in name resolution|Failed to connect|Couldn't connect|Connection (?:refused|reset|closed|timed out)|Operation timed out|timed out|Network is unreachable|No route to host|requested URL returned error: (?:5\d\d|429)|HTTP (?:5\d\d|429)|RPC failed|early EOF|unexpected disconnect|hung up unexpectedly|Empty reply|transfer closed|Recv failure|Send failure|SSL_ERROR_SYSCALL|gnutls_handshake|expected flush after|bytes of body are still expected|invalid server response|bad band|protocol error|remote failure|did not send all necessary objects/i;
const lasting =
  /Authentication failed|could not read (?:Username|Password)|Permission denied|Host key verification failed|requested URL returned error: 4(?!29)\d\d|not appear to be a git repository|not found|dubious ownership|not allowed|no space left|quota exceeded|couldn't find remote ref|fsck error|unable to find remote helper/i;

/** git's messages for a write that ran out of space. */
const isDiskFull = /No space left on device|Out of diskspace|Disk quota exceeded/i;

/** Returns true if another attempt may succeed a moment later; false when git's messages rule that out. */
export function isPassing({ said }: Pick<RemoteResult, 'said'>): boolean {
  const words = said.join('\n');
  return isOverlap(words) || (passing.test(words) && !lasting.test(words));
}

/** Returns (does not throw) REMOTE_UNREACHABLE, REMOTE_REFUSED, REMOTE_CHANGED, HOSTILE_SESSION, DISK_FULL or WRITE_FAILED. */
export function toRemoteError(label: string, { said, serverSaid, exitCode }: RemoteResult): TeddyError {
  const words = said.join('\n');
  const row = toOneRow(said) || `git exited with ${exitCode}`;
  if (isDiskFull.test(words)) return toDiskFull(row);
  if (/fsck error|unpack-objects failed|invalid index-pack output|index-pack failed/.test(words)) {
    if (/fsck error|: (?:error in|object) |hasDot|nullSha1/i.test(words)) return toHostile(label, said);
  }
  if (isLocalWrite(said)) return new TeddyError('WRITE_FAILED', row, adviseWrite(said.join('\n')));
  if (/couldn't find remote ref|not our ref/.test(words)) {
    return new TeddyError(
      'REMOTE_CHANGED',
      `${label} changed while it was being read: ${row}`,
      'Run the command again.',
    );
  }
  if (/shallow update not allowed/.test(words)) {
    return new TeddyError(
      'REMOTE_REFUSED',
      `${label} is a shallow clone: it does not have its sessions' history.`,
      'Fetch the full history there: `git fetch --unshallow`.',
    );
  }
  if (/requested URL returned error: 403|does not support --atomic/.test(words)) {
    const why = serverSaid.length === 0 ? row : serverSaid.join(' ');
    return new TeddyError('REMOTE_REFUSED', `${label} refused: ${cut(why)}`, adviseRefused(words));
  }
  return new TeddyError('REMOTE_UNREACHABLE', `${label} cannot be reached: ${row}`, adviseUnreachable(words, label));
}

/** Returns true if a write failed on this machine. git prints another prefix for a write that failed on the other side. */
function isLocalWrite(said: readonly string[]): boolean {
  return said.some(
    (row) =>
      unwritten.test(row) ||
      (/^(?:fatal|error): (?:unable to create|unable to write|unable to append|cannot lock ref|cannot update|cannot open|could not open|insufficient permission|failed to write|update_ref failed)/i.test(
        row,
      ) &&
        /Permission denied|Read-only file system|Operation not permitted|insufficient permission/i.test(row)),
  );
}

function toDiskFull(row: string): TeddyError {
  return new TeddyError('DISK_FULL', row, 'Free some space and run the command again; nothing was lost.');
}

function toHostile(label: string, said: string[]): TeddyError {
  const found = said.find((row) => /fsck error|hasDot|^error: object/i.test(row)) ?? toOneRow(said);
  const check = /\b(?:object|in) [0-9a-f]{40,64}:? \(?(\w+)|: (\w+): /.exec(said.join('\n'))?.[2];
  return new TeddyError(
    'HOSTILE_SESSION',
    `${label} has objects that git's own check rejects: ${cut(found)}`,
    check === undefined
      ? 'Nothing was fetched from it. `git fsck` there lists them.'
      : `Nothing was fetched from it. If this is an old flaw in your own history, run \`git config fetch.fsck.${check} ignore\`.`,
  );
}

function adviseRefused(words: string): string {
  return /--atomic/.test(words)
    ? 'teddy pushes sessions atomically, which this server does not support.'
    : 'Check that you have write access there, and which account you use.';
}

function adviseUnreachable(words: string, label: string): string {
  if (/could not read (?:Username|Password)|Authentication failed/.test(words))
    return `teddy never prompts for a password. Run \`git ls-remote ${label}\` to enter it; a credential helper saves it.`;
  if (/Host key verification failed/.test(words)) return 'Connect once with `ssh`, and verify the key that it shows.';
  if (/Permission denied \([a-z]/.test(words))
    return 'Add your key to the agent (`ssh-add`), and check that the server accepts it.';
  if (/Permission denied/.test(words)) return 'Check who may read and write there.';
  if (/not appear to be a git repository|not found/.test(words))
    return /[/:]/.test(label)
      ? 'Check the path or the URL. No repository was found there.'
      : '`git remote -v` shows the addresses.';
  if (/transport '.*' not allowed/.test(words)) return 'Allow it with `protocol.<name>.allow`; see `git help config`.';
  return `Check that it can be reached: \`git ls-remote ${label}\`.`;
}

/** Lines that git prints for every failure, with no information about this one. */
const commonRow =
  /^(?:Please make sure|and the repository exists|fatal: Could not read from remote|error: failed to push|warning: fetch normally indicates|but that check has been disabled|flag or run )/;

/** Joins git's messages into one line. */
function toOneRow(said: readonly string[]): string {
  const telling = said.filter((row) => row.trim() !== '' && !commonRow.test(row));
  const rows = telling.length === 0 ? said : telling;
  return cut(rows.map((row) => row.replace(/^(?:fatal|error|warning): /, '').trim()).join('; '));
}

export function cut(text: string): string {
  const row = text.replace(/\s+/g, ' ').trim();
  return row.length <= 400 ? row : `${row.slice(0, 399)}…`;
}
