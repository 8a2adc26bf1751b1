/** A command's surroundings: its words, streams, environment, directory and signals. */
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { BaseContext } from 'clipanion';
import { TeddyError } from '../errors.ts';
import type { openProject } from '../app.ts';
import type { ProcessTree } from '../ports/project.ts';

/** A source of signals, such as `process`. */
interface Signals {
  on(name: NodeJS.Signals | 'exit', listener: (name: NodeJS.Signals) => void): unknown;
  off(name: NodeJS.Signals | 'exit', listener: (name: NodeJS.Signals) => void): unknown;
}

/** The fields that a terminal has and a pipe does not. */
type Input = Readable & { isTTY?: boolean | undefined; setRawMode?(isRaw: boolean): unknown };
type Output = Writable & { isTTY?: boolean | undefined; columns?: number; rows?: number };

export interface CliContext extends BaseContext {
  /** The words after `teddy`. */
  words: readonly string[];
  stdin: Input;
  stdout: Output;
  stderr: Output;
  signals: Signals;
  /** Sends the signal that a key at the terminal would have sent. */
  raise(name: NodeJS.Signals): void;
  /** Exits immediately, without waiting for work that is still running. */
  exit(code: number): never;
  /** Returns the command's working directory. Throws if the directory no longer exists. */
  cwd(): string;
  /** The machine's processes; undefined to read the real ones. */
  tree?: ProcessTree | undefined;
  /** Opens the command's project; by default, opens the repository that contains the working directory. */
  openProject?: typeof openProject;
  /** Returns the text of `teddy help` with these words. Throws USAGE when there is none. */
  help?(words: readonly string[], width: number): Promise<string>;
  /** The file that started this process, used to start a hook or a server. */
  main: string;
}

/** Returns the command's working directory. Throws NOT_A_REPOSITORY if the directory no longer exists. */
export function readWorkingDirectory(context: CliContext): string {
  try {
    return context.cwd();
  } catch (error) {
    const message = 'The current directory no longer exists.';
    throw new TeddyError('NOT_A_REPOSITORY', message, 'Change to a directory in your repository.', { cause: error });
  }
}

/** Returns the directory, environment and input for the user's paths and programs. */
export function toSurroundings(context: CliContext): Pick<CliContext, 'env' | 'stdin'> & { cwd: string } {
  return { cwd: readWorkingDirectory(context), env: context.env, stdin: context.stdin };
}

/** Resolves a path that the user gave. */
export function resolvePath(context: CliContext, path: string): string {
  return resolve(readWorkingDirectory(context), path);
}

export function isDebug({ env }: CliContext): boolean {
  return env['TEDDY_DEBUG'] === '1';
}
