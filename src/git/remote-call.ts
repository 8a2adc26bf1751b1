/** One transfer by a child git: its progress while it goes on, its words afterwards, its end when it is not wanted any more. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../errors.ts';
import type { TransferOptions } from '../ports/git.ts';
import { hideCredentials } from '../session/urls.ts';
import { isBeforeStart, maxStarts, type GitRunner } from './run.ts';

export interface RemoteResult {
  exitCode: number;
  /** By a signal; null: by itself. */
  endedBy: NodeJS.Signals | null;
  stdout: string;
  /** git's own words, line by line, without credentials. */
  said: string[];
  /** The words of the other side, which may be anything. */
  serverSaid: string[];
}

/** A server may talk without end. */
const maxSaidChars = 64 * 1024;
/** How long those that git has started may take to see that it is gone. */
const graceMs = 300;
const pollMs = 20;

/** Throws INTERRUPTED when the signal ended it: then no process of the transfer is left. */
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
    'Run the command again: it goes on with what is there by then.',
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
 * git first: the other end of a path, which is in the same group, sees that and gives up between two steps, and not in the
 * middle of one. What has not gone by then is told.
 */
async function endTransfer(groupId: number, exited: Promise<void>): Promise<void> {
  signalTo(groupId, 'SIGTERM');
  await Promise.race([exited, sleep(graceMs)]);
  for (const end = performance.now() + graceMs; performance.now() < end; await sleep(pollMs))
    if (!signalTo(-groupId, 0)) return;
  signalTo(-groupId, 'SIGTERM');
}

/** False when there is nobody to signal. */
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
/** git says it of itself; nobody needs it. */
const idleRow = /^(?:Total \d|Delta compression using|POST git-|From |To |\s[*+=!-] |\s{3}[0-9a-f]+\.\.|$)/;

/** A row of progress ends with a carriage return, and is no word of anybody's. */
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
