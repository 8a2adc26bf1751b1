/**
 * Runs the built executable as a person's shell would, but never with a terminal of the tests' own.
 *
 *   const { exitCode, stdout, stderr } = await runTeddy(['session', 'list'], { cwd: repo.root });
 *   const run = startTeddy(['session', 'plan', '-m', 'Hello'], { cwd, env });
 *   await run.waitForOutput(/Sent/); run.kill('SIGINT'); const result = await run.result;
 */
import { spawn } from 'node:child_process';
import { checkHints } from './check-hints.ts';
import { runHere } from './run-here.ts';
import { teddyPath } from './teddy-path.ts';

export { teddyPath };

export interface RunOptions {
  cwd: string;
  /** Added to the environment; undefined removes a variable. */
  env?: Record<string, string | undefined>;
  /** Text for stdin, which is closed after it; none if not given. */
  stdin?: string | Uint8Array;
  /** Kills with SIGKILL after this time, which the result records; 100,000 if not given. */
  timeoutMs?: number;
  /** Started as a separate process: its start, its end or its children's output is the subject. */
  asProcess?: boolean;
  /** Another command changes the repository at the same time: a copy for trying the hints would be torn. */
  isRacing?: boolean;
  /** Starts this executable instead of the built one; only for `startTeddy`. */
  executable?: string;
}

export interface RunResult {
  /** 128 + n when signal n ended it, as in a shell. */
  exitCode: number;
  stdout: string;
  stderr: string;
  signal: NodeJS.Signals | null;
}

export interface RunningTeddy {
  pid: number;
  result: Promise<RunResult>;
  /** Resolves when stdout and stderr together match; rejects when the process ends without. */
  waitForOutput(pattern: RegExp): Promise<void>;
  /** All output so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
}

/**
 * In this process, from the built code: starting the executable takes longer than most commands. The commands that it
 * suggests as next steps are tried as well, in a copy of the repository.
 */
export async function runTeddy(args: string[], options: RunOptions): Promise<RunResult> {
  const { cwd, stdin = '' } = options;
  const env = environmentOf(options.env);
  const result = await (options.asProcess === true
    ? startTeddy(args, options).result
    : runHere({ words: args, cwd, env, stdin }).then(({ exitCode, stdout, stderr }) => ({
        exitCode,
        stdout,
        stderr,
        signal: null,
      })));
  if (options.isRacing !== true)
    await checkHints(teddyPath, { cwd, env, output: `${result.stdout}\n${result.stderr}` });
  return result;
}

export function startTeddy(args: string[], options: RunOptions): RunningTeddy {
  const child = spawn(process.execPath, [options.executable ?? teddyPath, ...args], {
    cwd: options.cwd,
    env: environmentOf(options.env),
    // A separate session: no terminal can be reached, not even as /dev/tty.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let ended = false;
  const listeners = new Set<() => void>();
  const notify = () => listeners.forEach((listen) => listen());
  child.stdout.setEncoding('utf8').on('data', (text: string) => ((stdout += text), notify()));
  child.stderr.setEncoding('utf8').on('data', (text: string) => ((stderr += text), notify()));
  // A program that does not read its stdin closes it, which does not fail the test.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.stdin ?? '');

  const result = new Promise<RunResult>((resolve, reject) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 100_000);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      ended = true;
      notify();
      resolve({ exitCode: code ?? 128 + numberOf(signal), stdout, stderr, signal });
    });
  });
  return {
    pid: child.pid ?? -1,
    result,
    kill: (signal) => void child.kill(signal),
    output: () => stdout + stderr,
    waitForOutput: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (pattern.test(stdout + stderr)) resolve();
          else if (ended) reject(new Error(`Ended without ${String(pattern)}:\n${stdout}\n${stderr}`));
          else return;
          listeners.delete(check);
        };
        listeners.add(check);
        check();
      }),
  };
}

/** The tests' environment with changes, as a list of variables for a child process. */
export function environmentOf(changes: Record<string, string | undefined> = {}): Record<string, string> {
  const merged = { ...process.env, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function numberOf(signal: NodeJS.Signals | null): number {
  return { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[String(signal)] ?? 0;
}
