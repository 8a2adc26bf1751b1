/**
 * Runs scripts with bash (or sh): in their own process group, without input, with captured output, and with a
 * guaranteed end.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import { TeddyError } from '../../errors.ts';
import type { Shell } from '../../ports/disk.ts';
import type { CommandResult } from '../../ports/files.ts';
import { scratchHolder, scriptPrefix } from '../../session/paths/scratch-names.ts';
import { findProgram } from '../find-program.ts';
import { makePipes, openPipe, type OutputPipe } from './output-pipe.ts';
import { endScript, findRunning, killScript, markEnvironment, readGroup, signalGroup } from './process-group.ts';
import {
  parseFailure,
  toScriptEnvironment,
  type Environment,
  type Failure,
  type ScriptFiles,
  renderBashCommand,
  renderShCommand,
  gateDescriptor,
} from './shell-command.ts';
import { errorReason, ignoreSystemError } from '../../disk/system-error.ts';
import type { ProcessGroup } from '../../plan/report/journal.ts';

export interface ShellOptions {
  /** The user's environment. */
  environment?: Environment;
  /** The time between TERM and KILL. */
  graceMs?: number;
  /** How long to wait for output after a script has ended, while a process that it left running keeps its streams open. */
  drainMs?: number;
  /** The most output to capture from each stream. */
  maxOutputBytes?: number;
  /** Identifies the owner of a script's directory: this process's name, and the repository on a second line. */
  holder?(): Promise<string>;
}

type Settings = Required<Omit<ShellOptions, 'holder'>>;
type RunOptions = Parameters<Shell['run']>[1];

const defaults = { graceMs: 2_000, drainMs: 1_000, maxOutputBytes: 10 * 1024 * 1024 };

/**
 * Runs scripts in the project at `root`. Also ends everything that a script leaves running, in its process group or
 * outside it (TERM, then KILL), once the output has ended or `drainMs` have passed, so that nothing runs on unnoticed.
 * A failed script is a result; throws ACTION_FAILED when a script cannot start.
 */
export function shell(root: string, options: ShellOptions = {}): Shell {
  const { holder, ...others } = options;
  const settings: Settings = { environment: process.env, ...defaults, ...others };
  return {
    findRunning,
    async run(script, runOptions) {
      const cwd = await findDirectory(root, runOptions.cwd);
      const scratch = await mkdtemp(join(tmpdir(), scriptPrefix)).catch(throwUnstarted);
      try {
        if (holder !== undefined) await writeFile(join(scratch, scratchHolder), await holder()).catch(throwUnstarted);
        return await runScript(script, cwd, scratch, runOptions, settings).catch(throwUnstarted);
      } finally {
        await rm(scratch, { recursive: true, force: true }).catch(ignoreSystemError);
      }
    },
  };
}

function throwUnstarted(error: unknown): never {
  if (error instanceof TeddyError) throw error;
  throw new TeddyError(
    'ACTION_FAILED',
    `The script could not be started: ${errorReason(error)}.`,
    'Check that `bash` or `sh`, and `mkfifo`, can be found, and that `env` is not too large.',
    { cause: error },
  );
}

function throwUnreadable(error: unknown): never {
  throw new TeddyError(
    'ACTION_FAILED',
    `The script's directory cannot be accessed: ${errorReason(error)}.`,
    'Check its permissions and run the script again.',
    { cause: error },
  );
}

async function findDirectory(root: string, cwd: string): Promise<string> {
  const project = await realpath(root).catch(throwUnreadable);
  const path = await realpath(join(project, cwd)).catch(() => null);
  if (path === null || !(await stat(path).catch(throwUnreadable)).isDirectory()) {
    throw new TeddyError(
      'ACTION_FAILED',
      `The directory ${cwd} does not exist.`,
      'Use a directory in the project as cwd.',
    );
  }
  const inside = relative(project, path);
  if (inside === '..' || inside.startsWith(`..${sep}`)) {
    throw new TeddyError('ACTION_FAILED', `The directory ${cwd} is outside the project.`, 'Use a cwd inside it.');
  }
  return path;
}

async function runScript(
  script: string,
  cwd: string,
  scratch: string,
  { env, timeoutMs, signal, onStart, onOutput }: RunOptions,
  { environment, graceMs, drainMs, maxOutputBytes }: Settings,
): Promise<CommandResult> {
  const files = { script: join(scratch, 'script'), failures: join(scratch, 'failures') };
  const pipes = { stdout: join(scratch, 'stdout'), stderr: join(scratch, 'stderr') };
  await writeFile(files.script, script, { mode: 0o600 });
  await makePipes(pipes.stdout, pipes.stderr);
  const stdout = openPipe(pipes.stdout, maxOutputBytes, (text) => onOutput?.('stdout', text));
  const stderr = openPipe(pipes.stderr, maxOutputBytes, (text) => onOutput?.('stderr', text));
  try {
    const startedAt = performance.now();
    const mark = randomUUID();
    const ending = await runProcess(
      {
        ...findInterpreter(files, environment),
        cwd,
        environment: toScriptEnvironment(environment, { ...env, ...markEnvironment(environment, mark) }),
        mark,
        stdout,
        stderr,
        onStart,
      },
      { timeoutMs, signal, graceMs, drainMs },
    );
    const durationMs = Math.round(performance.now() - startedAt);
    const failure = ending.exitCode === 0 ? null : await readFailure(files);
    return {
      ...ending,
      stdout: stdout.text(),
      stderr: stderr.text(),
      failedCommand: failure?.command ?? null,
      failedLine: failure?.line ?? null,
      truncated: stdout.truncated() || stderr.truncated(),
      durationMs,
    };
  } finally {
    stdout.release();
    stderr.release();
  }
}

/** The file does not exist when no command failed. */
async function readFailure(files: ScriptFiles): Promise<Failure | null> {
  return parseFailure(await readFile(files.failures, 'utf8').catch(() => ''));
}

/**
 * Chooses the program that runs a script: bash, or sh if the user has no bash. Searches the user's PATH, not the
 * script's own.
 */
function findInterpreter(files: ScriptFiles, user: Environment): { program: string; args: string[] } {
  const bash = findProgram('bash', user);
  return bash === null
    ? { program: findProgram('sh', user) ?? '/bin/sh', args: ['-c', renderShCommand(files), 'sh'] }
    : { program: bash, args: ['-c', renderBashCommand(files), 'bash'] };
}

/** One script's process, from its start until nothing of it is running. */
interface ScriptStart {
  program: string;
  args: string[];
  /** Absolute. */
  cwd: string;
  environment: Environment;
  /** A mark in the environment of every process that the script starts. */
  mark: string;
  stdout: OutputPipe;
  stderr: OutputPipe;
  /** The script waits until this resolves, and never begins if it rejects. */
  onStart?: ((group: ProcessGroup) => void | Promise<void>) | undefined;
}

interface ScriptLimits {
  timeoutMs: number;
  signal: AbortSignal;
  /** The time between TERM and KILL. */
  graceMs: number;
  /** How long to wait for output after a script has ended. */
  drainMs: number;
}

interface ScriptEnding {
  exitCode: number;
  timedOut: boolean;
  aborted: boolean;
  stillRunning?: number[];
}

const timeoutExitCode = 124;
const maxTimerMs = 2 ** 31 - 1;
const terminated: ScriptEnding = { exitCode: 128 + constants.signals.SIGTERM, timedOut: false, aborted: true };

/**
 * Starts nothing if the signal is already aborted. Rejects with the system's error when the start fails, or with
 * `onStart`'s error. The process waits at a gate until its group is recorded: if this process dies before that, the
 * gate closes and the script never begins.
 */
async function runProcess(start: ScriptStart, limits: ScriptLimits): Promise<ScriptEnding> {
  if (limits.signal.aborted) return terminated;
  const pipes = [start.stdout, start.stderr];
  const child = spawn(start.program, start.args, {
    cwd: start.cwd,
    env: start.environment,
    stdio: ['ignore', start.stdout.writeEnd, start.stderr.writeEnd, 'pipe'],
    detached: true,
  });
  const exited = waitForExit(child);
  for (const pipe of pipes) pipe.closeWriteEnd();
  const stop = stopOnLimit(child, start.mark, limits);
  const leave = stopTogether(child, stop.extend);
  return withoutSurvivors(child.pid, start.mark, async () => {
    const [noted, ended] = await Promise.allSettled([
      openGate(child, start),
      finish(pipes, exited, stop, limits.drainMs),
    ]);
    if (noted.status === 'rejected') throw noted.reason;
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  }).finally(leave);
}

interface Stoppable {
  groupId: number;
  /** Called with the time for which the script was stopped. */
  extend(ms: number): void;
}

const stoppable = new Set<Stoppable>();

/** Makes Ctrl-Z stop a script together with this process, and `fg` continue both. Returns a function that undoes this. */
function stopTogether({ pid }: ChildProcess, extend: Stoppable['extend']): () => void {
  if (pid === undefined) return () => undefined;
  const script = { groupId: pid, extend };
  if (stoppable.size === 0) process.on('SIGTSTP', stopAll);
  stoppable.add(script);
  return () => {
    stoppable.delete(script);
    if (stoppable.size === 0) process.off('SIGTSTP', stopAll);
  };
}

/** The system ignores SIGTSTP in a group without a parent in its session, such as a script's group. */
function stopAll(): void {
  const stoppedAt = performance.now();
  for (const { groupId } of stoppable) signalGroup(groupId, 'SIGSTOP');
  // This call returns when something continues this process.
  process.kill(process.pid, 'SIGSTOP');
  for (const { groupId, extend } of stoppable) {
    signalGroup(groupId, 'SIGCONT');
    extend(performance.now() - stoppedAt);
  }
}

async function openGate({ pid, stdio }: ChildProcess, { onStart, mark }: ScriptStart): Promise<void> {
  // The script never started, so it has no pipes either.
  if (pid === undefined) return;
  const gate = stdio[gateDescriptor] as Writable | null;
  // A process that has exited in the meantime has closed its end.
  gate?.on('error', () => undefined);
  try {
    await onStart?.(readGroup(pid, mark));
    await new Promise<void>((resolve) => gate?.write('\n', () => resolve()));
  } finally {
    gate?.destroy();
  }
}

/** When this process exits without waiting for the script, the script must not run on and change files. */
async function withoutSurvivors<Value>(
  groupId: number | undefined,
  mark: string,
  use: () => Promise<Value>,
): Promise<Value> {
  const kill = () => groupId !== undefined && killScript(groupId, mark);
  process.once('exit', kill);
  try {
    return await use();
  } finally {
    process.off('exit', kill);
  }
}

async function finish(
  pipes: OutputPipe[],
  exited: Promise<number>,
  stop: Stop,
  drainMs: number,
): Promise<ScriptEnding> {
  const exitCode = await exited.finally(stop.cancel);
  const drain = () => Promise.all(pipes.map((pipe) => pipe.waitForEnd(drainMs)));
  if (stop.reason() === null) await drain();
  const stillRunning = await stop.end();
  await drain();
  const timedOut = stop.reason() === 'timeout';
  return {
    exitCode: timedOut ? timeoutExitCode : exitCode,
    timedOut,
    aborted: stop.reason() === 'abort',
    ...(stillRunning.length === 0 ? {} : { stillRunning }),
  };
}

function waitForExit(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}

interface Stop {
  /** Returns the limit that ended the group before the script ended by itself; null when none did. */
  reason(): 'timeout' | 'abort' | null;
  /** Extends the time limit. */
  extend(ms: number): void;
  /** Removes all limits, because the script has ended. */
  cancel(): void;
  /**
   * Ends the processes that the script has left running, or waits until a limit has ended them. Returns the processes
   * that it cannot end.
   */
  end(): Promise<number[]>;
}

function stopOnLimit({ pid }: ChildProcess, mark: string, { timeoutMs, signal, graceMs }: ScriptLimits): Stop {
  const state: { reason: 'timeout' | 'abort' | null; ending: Promise<number[]> | null; isOver: boolean } = {
    reason: null,
    ending: null,
    isOver: false,
  };
  const end = () => (state.ending ??= pid === undefined ? Promise.resolve([]) : endScript(pid, mark, graceMs));
  const stop = (reason: 'timeout' | 'abort') => {
    state.reason ??= reason;
    void end();
  };
  const onAbort = () => stop('abort');
  const startTimer = (ms: number) => setTimeout(() => stop('timeout'), Math.min(Math.max(ms, 1), maxTimerMs));
  let endsAt = performance.now() + timeoutMs;
  let timer = startTimer(timeoutMs);
  signal.addEventListener('abort', onAbort);
  return {
    reason: () => state.reason,
    extend(ms) {
      if (state.isOver) return;
      endsAt += ms;
      clearTimeout(timer);
      timer = startTimer(endsAt - performance.now());
    },
    cancel() {
      state.isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
    end,
  };
}
