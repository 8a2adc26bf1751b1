/** Starts the child program with one fault, and reports the result. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { environmentOf } from '../support/run-teddy.ts';
import { faultVariable, type ChildLine, type Fault, type Points } from './fault.ts';

export interface ChildRun {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** The point that failed; null if the run did not come that far. */
  hit: string | null;
  acknowledged: string[];
  /** Ids of the write sessions that were begun. */
  begun: string[];
  /** Bytes of content that the last save confirmed as safe. */
  savedBytes: number;
  /** For each request in a conversation that was sent: the calls whose results are in it. */
  asked: string[][];
  /** The results of a conversation's tools that reached its listener. */
  results: { callId: string; output: string }[];
  warnings: string[];
  /** Refusals after which a writer in a race retried. */
  refusals: number;
  failure: { code: string | null; text: string } | null;
  points: Points | null;
  stderr: string;
  durationMs: number;
  timedOut: boolean;
}

export interface ChildJob {
  program: string;
  operation: string;
  root: string;
  fault?: Fault;
  count?: number;
  name?: string | undefined;
  startAtMs?: number;
  /** SIGKILL after this time; with `everything`, the git processes that it has started die at the same moment. */
  kill?: { afterMs: number; everything: boolean };
}

/**
 * Anything that takes longer hangs: each of eight writers waits for the seven others, on a machine that may be busy.
 */
const [hangMs, hangEachMs] = [60_000, 10_000];

export function runChild(job: ChildJob): Promise<ChildRun> {
  const { program, operation, root, count = 1, name = 'one', startAtMs = 0, kill } = job;
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program, operation, root, String(count), name, String(startAtMs)], {
    cwd: root,
    env: environmentOf({ [faultVariable]: JSON.stringify(job.fault ?? { kind: 'none' }) }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let timedOut = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const killer = kill && setTimeout(() => killAt(child.pid ?? 0, kill.everything), kill.afterMs);
  const limit = setTimeout(
    () => {
      timedOut = true;
      child.kill('SIGKILL');
    },
    hangMs + count * hangEachMs,
  );
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode, signal) => {
      clearTimeout(killer);
      clearTimeout(limit);
      const durationMs = performance.now() - startedMs;
      resolve({ exitCode, signal, stderr, durationMs, timedOut, ...readLines(stdout) });
    });
  });
}

/**
 * Our git processes are in separate process groups, so they are found as children; stopping them keeps the list
 * complete.
 */
function killAt(pid: number, everything: boolean): void {
  try {
    if (everything) process.kill(pid, 'SIGSTOP');
    const children = everything ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ') : [];
    for (const one of children.filter((text) => text !== '')) process.kill(Number(one), 'SIGKILL');
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It was faster.
    if (!['ESRCH', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

type ChildReport = Omit<ChildRun, 'exitCode' | 'signal' | 'stderr' | 'durationMs' | 'timedOut'>;

function readLines(stdout: string): ChildReport {
  const lines = stdout
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text) as ChildLine);
  const one = <Name extends ChildLine['line']>(name: Name) =>
    lines.find((line): line is Extract<ChildLine, { line: Name }> => line.line === name) ?? null;
  return {
    hit: one('hit')?.point ?? null,
    acknowledged: lines.flatMap((line) => (line.line === 'acknowledged' ? [line.commit] : [])),
    begun: lines.flatMap((line) => (line.line === 'begun' ? [line.id] : [])),
    savedBytes: lines.flatMap((line) => (line.line === 'saved' ? [line.size] : [])).at(-1) ?? 0,
    asked: lines.flatMap((line) => (line.line === 'asked' ? [line.callIds] : [])),
    results: lines.flatMap((line) => (line.line === 'result' ? [line] : [])),
    warnings: lines.flatMap((line) => (line.line === 'warned' ? [line.text] : [])),
    refusals: lines.filter(({ line }) => line === 'refused').length,
    failure: one('failed'),
    points: one('points')?.points ?? null,
  };
}
