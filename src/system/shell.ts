/** Runs scripts: bash (or sh), a process group of their own, no input, output captured, an end that always comes. */
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, sep, delimiter } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { CommandResult, Shell } from '../ports/disk.ts';
import { scratchHolder, scriptPrefix } from '../session/scratch-names.ts';
import { makePipes, openPipe } from './output-pipe.ts';
import { isGroupRunning } from './process-group.ts';
import { runProcess } from './script-process.ts';
import {
  parseFailure,
  toScriptEnvironment,
  type Environment,
  type Failure,
  type ScriptFiles,
  renderBashCommand,
  renderShCommand,
} from './shell-command.ts';
import { errorReason } from '../disk/system-error.ts';
import { accessSync, constants } from 'node:fs';

export interface ShellOptions {
  /** The user's environment. */
  environment?: Environment;
  /** Between TERM and KILL. */
  graceMs?: number;
  /** How long output is waited for when a script has ended but something it left holds its streams open. */
  drainMs?: number;
  /** Kept of each stream. */
  maxOutputBytes?: number;
  /** Says whose the directory of a script is: the name of this process, and on a second line the repository. */
  holder?(): Promise<string>;
}

type Settings = Required<Omit<ShellOptions, 'holder'>>;
type RunOptions = Parameters<Shell['run']>[1];

const defaults = { graceMs: 2_000, drainMs: 1_000, maxOutputBytes: 10 * 1024 * 1024 };

/**
 * Scripts run in the project at `root`. What a script left running in its process group is ended too (TERM, then KILL)
 * once its output has ended or `drainMs` have passed, so that nothing goes on unseen. A script that fails is a result;
 * ACTION_FAILED is thrown when it cannot be started.
 */
export function shell(root: string, options: ShellOptions = {}): Shell {
  const { holder, ...others } = options;
  const settings: Settings = { environment: process.env, ...defaults, ...others };
  return {
    isRunning: isGroupRunning,
    async run(script, runOptions) {
      const cwd = await findDirectory(root, runOptions.cwd);
      const scratch = await mkdtemp(join(tmpdir(), scriptPrefix)).catch(throwUnstarted);
      try {
        if (holder !== undefined) await writeFile(join(scratch, scratchHolder), await holder()).catch(throwUnstarted);
        return await runScript(script, cwd, scratch, runOptions, settings).catch(throwUnstarted);
      } finally {
        await rm(scratch, { recursive: true, force: true });
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
    `The directory of the script cannot be looked at: ${errorReason(error)}.`,
    'See to its permissions, and run it again.',
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
      'Use a directory of the project as cwd.',
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
    const ending = await runProcess(
      {
        ...findInterpreter(files, environment),
        cwd,
        environment: toScriptEnvironment(environment, env),
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

/** There is no such file when no command failed. */
async function readFailure(files: ScriptFiles): Promise<Failure | null> {
  return parseFailure(await readFile(files.failures, 'utf8').catch(() => ''));
}

/**
 * Chooses the program that runs a script: bash, or sh where there is none. It is looked for where the user has it,
 * not where the script's own PATH leads.
 */
function findInterpreter(files: ScriptFiles, user: Environment): { program: string; args: string[] } {
  const bash = findProgram('bash', user);
  return bash === null
    ? { program: findProgram('sh', user) ?? '/bin/sh', args: ['-c', renderShCommand(files), 'sh'] }
    : { program: bash, args: ['-c', renderBashCommand(files), 'bash'] };
}

function findProgram(name: string, user: Environment): string | null {
  const candidates = (user['PATH'] ?? '').split(delimiter).map((directory) => join(directory || '.', name));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
