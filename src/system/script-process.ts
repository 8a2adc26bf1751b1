/** The process of one script, from its start until nothing of it is left. */
import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import type { OutputPipe } from './output-pipe.ts';
import type { ProcessGroup } from '../plan/journal.ts';
import { endGroup, killGroup, readGroup } from './process-group.ts';
import { gateDescriptor, type Environment } from './shell-command.ts';

interface ScriptStart {
  program: string;
  args: string[];
  /** Absolute. */
  cwd: string;
  environment: Environment;
  stdout: OutputPipe;
  stderr: OutputPipe;
  /** The script waits until it has resolved, and never begins if it rejects. */
  onStart?: ((group: ProcessGroup) => void | Promise<void>) | undefined;
}

interface ScriptLimits {
  timeoutMs: number;
  signal: AbortSignal;
  /** Between TERM and KILL. */
  graceMs: number;
  /** How long the output of a script that has ended is waited for. */
  drainMs: number;
}

interface ScriptEnding {
  exitCode: number;
  timedOut: boolean;
  aborted: boolean;
}

const timeoutExitCode = 124;
const maxTimerMs = 2 ** 31 - 1;
const terminated: ScriptEnding = { exitCode: 128 + constants.signals.SIGTERM, timedOut: false, aborted: true };

/**
 * Starts nothing when the signal is aborted already. Rejects with the system's error when the start fails, and with `onStart`'s.
 * The process waits at a gate until its group is noted: whoever kills this process meanwhile closes the gate, and the script never begins.
 */
export async function runProcess(start: ScriptStart, limits: ScriptLimits): Promise<ScriptEnding> {
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
  const stop = stopOnLimit(child, limits);
  return withoutSurvivors(child.pid, async () => {
    const [noted, ended] = await Promise.allSettled([
      openGate(child, start.onStart),
      finish(pipes, exited, stop, limits.drainMs),
    ]);
    if (noted.status === 'rejected') throw noted.reason;
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  });
}

async function openGate({ pid, stdio }: ChildProcess, onStart: ScriptStart['onStart']): Promise<void> {
  // It was never started, and then it has no pipes either.
  if (pid === undefined) return;
  const gate = stdio[gateDescriptor] as Writable | null;
  // A process that was ended meanwhile has closed its side.
  gate?.on('error', () => undefined);
  try {
    await onStart?.(readGroup(pid));
    await new Promise<void>((resolve) => gate?.write('\n', () => resolve()));
  } finally {
    gate?.destroy();
  }
}

/** Who leaves at once, without waiting for the script, must leave nothing that goes on to change files. */
async function withoutSurvivors<Value>(groupId: number | undefined, use: () => Promise<Value>): Promise<Value> {
  const kill = () => groupId !== undefined && killGroup(groupId);
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
  await stop.endGroup();
  await drain();
  const timedOut = stop.reason() === 'timeout';
  return { exitCode: timedOut ? timeoutExitCode : exitCode, timedOut, aborted: stop.reason() === 'abort' };
}

function waitForExit(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}

interface Stop {
  /** What ended the group before the script ended by itself. */
  reason(): 'timeout' | 'abort' | null;
  /** No limit applies any more: the script has ended. */
  cancel(): void;
  /** Ends the group, or waits for the end that a limit has begun. */
  endGroup(): Promise<void>;
}

function stopOnLimit(child: ChildProcess, { timeoutMs, signal, graceMs }: ScriptLimits): Stop {
  const state: { reason: 'timeout' | 'abort' | null; ending: Promise<void> | null } = { reason: null, ending: null };
  const end = () => (state.ending ??= child.pid === undefined ? Promise.resolve() : endGroup(child.pid, graceMs));
  const stop = (reason: 'timeout' | 'abort') => {
    state.reason ??= reason;
    void end();
  };
  const onAbort = () => stop('abort');
  const timer = setTimeout(() => stop('timeout'), Math.min(timeoutMs, maxTimerMs));
  signal.addEventListener('abort', onAbort);
  return {
    reason: () => state.reason,
    cancel() {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
    endGroup: end,
  };
}
