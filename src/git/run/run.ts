/** Runs git as a child process, with exact input and output bytes and a clean environment. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { DamagedObjectError, GitKilledError, TeddyError, tooManyFilesError } from '../../errors.ts';
import { toGitFailure, type GitEnd } from './git-failure.ts';
import { toWriteError } from '../../disk/replace-file.ts';

/** The variables to keep from the user's environment. Any other `GIT_*` variable would change the meaning of teddy's calls. */
const keptVariables = /^GIT_(?:AUTHOR_|COMMITTER_|SSH|CONFIG_|CEILING_DIRECTORIES$|DEFAULT_HASH$)/;

/**
 * The settings for teddy's own calls: no hooks, fsync for everything written, no background maintenance, unquoted
 * paths. `core.fsync=all` because git by default fsyncs neither refs nor loose objects. `diff.orderFile` is overridden
 * because git fails when that file is missing.
 */
export const fixedSettings = [
  'core.hooksPath=/dev/null',
  'core.fsync=all',
  'core.quotePath=false',
  'diff.orderFile=/dev/null',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
];

/**
 * Another git is making a linked work tree and has not filled its files yet. A command that looks at all work trees
 * then fails before doing anything.
 */
const halfMadeWorkTree = /^fatal: failed to read \S*worktrees\/.*commondir: /m;
/**
 * A concurrent `git gc` has removed an object folder that the child had just made and not filled yet. Commands that
 * write objects are safe to repeat.
 */
const vanishedFolder = /^error: unable to create temporary file: No such file or directory/m;
const waitStepMs = 25;
const maxWaitMs = 2_000;

/** Returns true if another git process interfered at that moment; the command succeeds on a rerun. */
export function isOverlap(stderr: string): boolean {
  return halfMadeWorkTree.test(stderr) || vanishedFolder.test(stderr);
}

export type Environment = Record<string, string | undefined>;

/**
 * Returns true if Ctrl-C, or the closing of the terminal, reached a child after its start but before it had its own
 * process group. git itself has not begun yet, so the caller may start it again.
 */
export function isBeforeStart(signal: NodeJS.Signals | null): boolean {
  return signal === 'SIGINT' || signal === 'SIGHUP';
}

/** No user presses Ctrl-C more often than this. */
export const maxStarts = 5;

/** After this many deaths, something keeps killing git, so teddy reports it. */
export const maxDeaths = 3;

/**
 * Returns true if a signal ended git, also in the form that a shell reports. 128 (failure) and 129 (wrong option) are
 * git's own codes.
 */
export function wasKilled(code: number | null, signal: NodeJS.Signals | null): boolean {
  return signal !== null || (code !== null && code > 129 && code < 129 + 64);
}

/** Commands with effects that others can see. Before a repeat, teddy must find out whether they took effect. */
const moving = new Set(['update-ref', 'switch', 'merge', 'worktree', 'fetch', 'push', 'clone', 'commit-tree']);

/**
 * While another git packs and prunes, a git process can miss an existing object: the object is no longer loose, and the
 * process has not loaded the new pack yet. A new git process finds it, so teddy repeats read-only commands before it
 * reports an object as damaged.
 */
export const maxLooks = 3;
export const lookAgainMs = 20;

function missesObject(args: string[], end: GitEnd): boolean {
  const command = toCommand(args);
  return end.exitCode !== 0 && !moving.has(command) && toGitFailure(command, end) instanceof DamagedObjectError;
}

function toCommand(args: string[]): string {
  return args.find((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-c') ?? '';
}

interface GitResult {
  exitCode: number;
  /** The signal that ended git; null if there was none. */
  signal: NodeJS.Signals | null;
  /** True when git was killed or crashed. */
  died: boolean;
  stdout: Buffer;
  stderr: string;
}

interface GitRunOptions {
  input?: string | Uint8Array;
  env?: Environment;
  /** Called immediately with the pid of each new process. */
  onStart?: (pid: number) => void;
  /** Exit codes that count as an answer, not a failure; 0 always does. */
  accept?: number[];
  /** True when the caller itself cleans up after a killed git. */
  acceptDeath?: boolean;
}

export interface GitRunner {
  /** Runs git. Throws GIT_FAILED with git's own message, unless `accept` lists the exit code. */
  run(args: string[], options?: GitRunOptions): Promise<GitResult>;
  /** Returns stdout as text, without its last newline. */
  text(args: string[], options?: GitRunOptions): Promise<string>;
  /** Returns stdout split at NUL. */
  list(args: string[], options?: GitRunOptions): Promise<string[]>;
  /** Yields stdout line by line as it arrives; when the consumer stops early, the child ends. */
  lines(args: string[]): AsyncIterable<string>;
  /** Starts a child that runs until its stdin is closed. */
  start(args: string[]): ChildProcessWithoutNullStreams;
}

/** Returns the environment for git's children: the user's, without the variables that would redirect or color teddy's calls. */
export function toChildEnvironment(env: Environment, added: Environment = {}): Environment {
  const kept = Object.entries(env).filter(([key]) => !key.startsWith('GIT_') || keptVariables.test(key));
  return {
    ...Object.fromEntries(kept),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_PAGER: 'cat',
    GIT_EDITOR: 'false',
    GIT_OPTIONAL_LOCKS: '0',
    ...added,
  };
}

/** Makes a runner. `mend` removes abandoned half-made work trees, because git fails when it meets them. */
export function gitRunner(
  cwd: string,
  env: Environment,
  trace?: (line: string) => void,
  mend?: () => Promise<unknown>,
): GitRunner {
  const launch = (args: string[], added: Environment = {}) => startChild(cwd, { ...env, ...added }, args);

  async function runOnce(args: string[], options: GitRunOptions): Promise<GitResult> {
    for (let starts = 1; ; starts += 1) {
      const child = launch(args, options.env);
      if (child.pid !== undefined) options.onStart?.(child.pid);
      const result = await collect(child, options.input).catch((error: NodeJS.ErrnoException) => {
        throw toSpawnError(error, cwd);
      });
      if (!isBeforeStart(result.signal) || starts === maxStarts) return result;
    }
  }

  /** Runs git again when it dies before answering, and removes the lock of the private index that git was writing. */
  async function runUntilAnswered(args: string[], options: GitRunOptions): Promise<GitResult> {
    for (let deaths = 1; ; deaths += 1) {
      const result = await runOnce(args, options);
      if (!result.died || deaths === maxDeaths || moving.has(toCommand(args))) return result;
      const index = options.env?.['GIT_INDEX_FILE'];
      if (index !== undefined) await rm(`${index}.lock`, { force: true });
    }
  }

  async function run(args: string[], options: GitRunOptions = {}): Promise<GitResult> {
    const started = performance.now();
    let result = await runUntilAnswered(args, options);
    while (result.exitCode !== 0 && isOverlap(result.stderr) && performance.now() - started < maxWaitMs) {
      await sleep(waitStepMs);
      if (halfMadeWorkTree.test(result.stderr)) await mend?.();
      result = await runUntilAnswered(args, options);
    }
    for (let looks = 1; looks < maxLooks && missesObject(args, result); looks += 1) {
      await sleep(lookAgainMs);
      result = await runUntilAnswered(args, options);
    }
    trace?.(`git ${args.join(' ')}  ${Math.round(performance.now() - started)} ms, exit ${result.exitCode}`);
    // A dead git has not answered, whatever its exit code would otherwise mean.
    if (result.died && options.acceptDeath !== true) throw toDeath(args, result);
    if (result.exitCode !== 0 && !options.accept?.includes(result.exitCode) && !result.died)
      throw toGitFailure(args[0] ?? '', result);
    return result;
  }

  async function* lines(args: string[], starts = 1): AsyncIterable<string> {
    const child = launch(args);
    const ended = collectErrors(child);
    let count = 0;
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        count += 1;
        yield line;
      }
    } finally {
      // A consumer that stops early closes git's pipe.
      child.stdout.destroy();
    }
    const { exitCode, signal, stderr } = await ended;
    const isRepeated =
      count === 0 &&
      ((isBeforeStart(signal) && starts < maxStarts) ||
        (starts < maxLooks && missesObject(args, { exitCode, signal, stderr })));
    if (isRepeated) yield* lines(args, starts + 1);
    else if (exitCode !== 0) throw toGitFailure(args[0] ?? '', { exitCode, signal, stderr });
  }

  return {
    run,
    lines: (args) => lines(args),
    text: async (args, options) => (await run(args, options)).stdout.toString('utf8').replace(/\n$/, ''),
    list: async (args, options) => splitNul((await run(args, options)).stdout),
    start: (args) => launch(args),
  };
}

function startChild(cwd: string, env: Environment, args: string[]): ChildProcessWithoutNullStreams {
  const child = spawn('git', [...fixedSettings.flatMap((setting) => ['-c', setting]), ...args], {
    cwd,
    env,
    stdio: 'pipe',
    // Give each child its own process group: teddy handles Ctrl-C at the terminal, and Ctrl-C must not kill git in the
    // middle of a write.
    detached: true,
    windowsHide: true,
  });
  refuseWithoutPipes(child);
  return child;
}

export function splitNul(bytes: Buffer): string[] {
  const text = bytes.toString('utf8');
  if (text === '') return [];
  return (text.endsWith('\0') ? text.slice(0, -1) : text).split('\0');
}

/** Throws when the pipes could not be opened, because Node returns a child without pipes and reports the reason only later. */
function refuseWithoutPipes(child: Partial<ChildProcessWithoutNullStreams>): void {
  if (child.stdin !== undefined) return;
  child.on?.('error', () => undefined);
  throw tooManyFilesError();
}

function collect(child: ChildProcessWithoutNullStreams, input: string | Uint8Array | undefined): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.on('error', reject);
    child.on('close', (code, signal) =>
      resolve({
        exitCode: code ?? (signal === null ? 1 : 128),
        signal,
        died: wasKilled(code, signal),
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr).toString('utf8'),
      }),
    );
    // A child that fails before reading its input closes the pipe; its exit code is more informative than EPIPE.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input ?? '');
  });
}

/** Collects the exit code and stderr of a child while the caller reads its stdout. */
function collectErrors(child: ChildProcessWithoutNullStreams): Promise<Omit<GitResult, 'stdout' | 'died'>> {
  return new Promise((resolve) => {
    const stderr: Buffer[] = [];
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.on('error', (error) => resolve({ exitCode: 128, signal: null, stderr: error.message }));
    child.on('close', (code, signal) =>
      resolve({ exitCode: code ?? 128, signal, stderr: Buffer.concat(stderr).toString('utf8') }),
    );
    child.stdin.on('error', () => undefined);
    child.stdin.end();
  });
}

function toSpawnError(error: NodeJS.ErrnoException, cwd: string): TeddyError {
  if (error instanceof TeddyError) return error;
  // Node reports a missing working directory as a missing program.
  if (error.code === 'ENOENT' && !existsSync(cwd)) {
    return new TeddyError('NO_WORK_TREE', `The folder ${cwd} no longer exists.`, 'Change to a folder that exists.', {
      cause: error,
    });
  }
  if (error.code === 'ENOENT') return gitMissingError();
  return new TeddyError('GIT_FAILED', `git could not be started: ${error.message}`, undefined, { cause: error });
}

export function gitMissingError(): TeddyError {
  return new TeddyError(
    'GIT_MISSING',
    'git could not be started.',
    'Install git 2.38 or newer, and make sure that it is on your PATH.',
  );
}

function toDeath(args: string[], { signal, exitCode, stderr }: GitResult): TeddyError {
  const how = signal === null ? `exit code ${exitCode}` : signal;
  const said = stderr.trim().split('\n')[0] ?? '';
  return new GitKilledError(
    `git ${args[0]} was killed (${how})${said === '' ? '.' : `: ${said}`}`,
    'Find out what kills it (memory, a limit, a user), and run the command again.',
  );
}

/** Wraps an adapter so that its promises reject with a TeddyError, except for bugs. */
export function withOwnErrors<Adapter extends object>(adapter: Adapter): Adapter {
  const wrapped = Object.entries(adapter).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'function' ? wrap(value as (...args: unknown[]) => unknown) : value,
  ]);
  return Object.fromEntries(wrapped) as Adapter;
}

function wrap(method: (...args: unknown[]) => unknown): (...args: unknown[]) => unknown {
  return (...args) => {
    const result = method(...args);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw toWriteError(error, (error as NodeJS.ErrnoException).path ?? 'the repository');
    });
  };
}

/** The oldest supported git version, which introduced `cat-file --batch-command -z`. */
const minimumVersion = [2, 38] as const;

/** Checks git's version after git has refused a call. Throws GIT_TOO_OLD, GIT_MISSING. */
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
