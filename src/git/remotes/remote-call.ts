/**
 * Runs one transfer in a child git: reports its progress, collects its messages, and ends it on abort. Also resolves
 * the remote that a user named, and the label for it in messages.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../../errors.ts';
import type { TransferOptions } from '../../ports/git.ts';
import { hideCredentials } from '../../session/masks/urls.ts';
import { isBeforeStart, maxStarts, type GitRunner } from '../run/run.ts';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { answerOf } from '../run/porcelain.ts';
import type { GitSetting } from '../refs/settings.ts';
import type { SimpleGit } from 'simple-git';

export interface RemoteResult {
  exitCode: number;
  /** The signal that ended git; null when git exited by itself. */
  endedBy: NodeJS.Signals | null;
  stdout: string;
  /** git's own messages, one per line, without credentials. */
  said: string[];
  /** The other side's messages, which may contain anything. */
  serverSaid: string[];
}

/** Limits the messages, because a server may send an endless stream of them. */
const maxSaidChars = 64 * 1024;
/** How long git's own children may take to notice that git is gone. */
const graceMs = 300;
const pollMs = 20;

/** Runs one transfer. Throws INTERRUPTED when the signal ended it, after all processes of the transfer have ended. */
export async function callRemote(
  git: GitRunner,
  args: string[],
  input: string,
  { signal, onProgress }: TransferOptions,
): Promise<RemoteResult> {
  for (let starts = 1; ; starts += 1) {
    if (signal.aborted) throw interrupted();
    const result = await callOnce(git, args, input, { signal, onProgress });
    if (signal.aborted && result.exitCode !== 0) throw interrupted();
    if (!isBeforeStart(result.endedBy) || starts === maxStarts) return result;
  }
}

function interrupted(): TeddyError {
  return new TeddyError(
    'INTERRUPTED',
    'Interrupted while talking to the remote.',
    'Run the command again: it continues with the part that has arrived.',
  );
}

async function callOnce(
  git: GitRunner,
  args: string[],
  input: string,
  options: TransferOptions,
): Promise<RemoteResult> {
  const child = git.start(args);
  const words = collectWords(options.onProgress);
  const stdout: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => words.add(chunk.toString('utf8')));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const closed = new Promise<[number, NodeJS.Signals | null]>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, endedBy) => resolve([code ?? 128, endedBy]));
  });
  const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  let ending: Promise<void> | null = null;
  const end = () => {
    if (child.pid !== undefined) ending = endTransfer(child.pid, exited);
  };
  options.signal.addEventListener('abort', end, { once: true });
  try {
    const [exitCode, endedBy] = await closed.catch((error: NodeJS.ErrnoException) => {
      throw new TeddyError('GIT_FAILED', `git could not be started: ${error.message}`, undefined, { cause: error });
    });
    await ending;
    return { exitCode, endedBy, stdout: Buffer.concat(stdout).toString('utf8'), ...words.end() };
  } finally {
    options.signal.removeEventListener('abort', end);
  }
}

/**
 * Signals git first. For a remote that is a path, the other end is in the same process group; it notices git's exit and
 * stops between two steps instead of within one. Then signals the processes that are still running.
 */
async function endTransfer(groupId: number, exited: Promise<void>): Promise<void> {
  signalTo(groupId, 'SIGTERM');
  await Promise.race([exited, sleep(graceMs)]);
  for (const end = performance.now() + graceMs; performance.now() < end; await sleep(pollMs))
    if (!signalTo(-groupId, 0)) return;
  signalTo(-groupId, 'SIGTERM');
}

/** Sends a signal. Returns false when the process does not exist. */
function signalTo(id: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(id, signal);
  } catch {
    return false;
  }
}

interface Words {
  add(text: string): void;
  end(): Pick<RemoteResult, 'said' | 'serverSaid'>;
}

const progressRow = /^(?:remote: )?([A-Z][a-z]+ (?:objects|deltas)):\s+(?:\d+% \((\d+)\/(\d+)\)|(\d+))/;
/** Lines that git always prints and that help no user. */
const idleRow = /^(?:Total \d|Delta compression using|POST git-|From |To |\s[*+=!-] |\s{3}[0-9a-f]+\.\.|$)/;

/** Separates progress from messages; a line of progress ends with a carriage return. */
function collectWords(onProgress: TransferOptions['onProgress']): Words {
  const said: string[] = [];
  const serverSaid: string[] = [];
  let chars = 0;
  let rest = '';
  const take = (row: string) => {
    const progress = progressRow.exec(row);
    if (progress !== null) {
      const [, phase = '', done, total, count] = progress;
      onProgress?.({ phase, done: Number(done ?? count), total: total === undefined ? null : Number(total) });
      return;
    }
    chars += row.length;
    if (chars > maxSaidChars || idleRow.test(row)) return;
    if (row.startsWith('remote:')) serverSaid.push(hideCredentials(row.slice('remote:'.length).trim()));
    else said.push(hideCredentials(row.trimEnd()));
  };
  return {
    add(text) {
      const rows = (rest + text).split(/[\r\n]/);
      rest = (rows.pop() ?? '').slice(0, maxSaidChars);
      rows.forEach(take);
    },
    end() {
      take(rest);
      return { said, serverSaid: serverSaid.filter((row) => row !== '') };
    },
  };
}

/** A remote, in the form for git and the form for messages. */
export interface RemoteAddress {
  /** The argument on git's command line, after `--`. */
  argument: string;
  /** The name shown to the user, without credentials. */
  label: string;
  isNamed: boolean;
}

/**
 * Finds a remote by its name, URL or path. `names` are the configured remotes; paths are relative to `cwd`, the user's
 * directory. Throws UNKNOWN_REMOTE.
 */
export async function findRemote(
  remote: string,
  names: readonly string[],
  cwd: string,
  porcelain: () => Promise<SimpleGit>,
): Promise<RemoteAddress> {
  const label = hideCredentials(remote);
  if (names.includes(remote) && !remote.startsWith('-')) return { argument: remote, label, isNamed: true };
  // git would treat this name as an option, in some commands even after `--`.
  if (remote === '' || remote.startsWith('-')) throw toUnknown(label, names);
  const path = resolve(cwd, remote);
  if (isPath(remote) && existsSync(path)) return { argument: path, label, isNamed: false };
  if (/[/:\\]/.test(remote) || (await isRewritten(await porcelain(), remote)))
    return { argument: remote, label, isNamed: false };
  throw toUnknown(label, names);
}

/** Lists the remotes that `git remote` would print: any setting of a remote creates it. */
export function toRemoteNames(settings: ReadonlyMap<string, GitSetting>): string[] {
  const names = [...settings.keys()].flatMap((key) => /^remote\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}

/** Distinguishes a path from `host:path` by git's own rule. */
function isPath(remote: string): boolean {
  const colon = remote.indexOf(':');
  const slash = remote.search(/[/\\]/);
  return colon === -1 || (slash !== -1 && slash < colon) || /^[A-Za-z]:[/\\]/.test(remote);
}

/** Returns true if git rewrites the word: `url.<base>.insteadOf` can make an address of any word. */
async function isRewritten(git: SimpleGit, remote: string): Promise<boolean> {
  return (await answerOf('ls-remote', () => git.listRemote(['--get-url', '--', remote]))).replace(/\n$/, '') !== remote;
}

function toUnknown(label: string, names: readonly string[]): TeddyError {
  return new TeddyError(
    'UNKNOWN_REMOTE',
    `There is no remote ${JSON.stringify(label)}.`,
    names.length === 0
      ? 'No remote is configured. Run `git remote add origin <url>`, or specify a URL or a path.'
      : `Configured remotes: ${names.join(', ')}. You can also use a URL or a path.`,
  );
}
