/** The outside of a command: its words, streams, environment, folder and signals. */
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { BaseContext } from 'clipanion';
import { TeddyError } from '../errors.ts';

/** Where signals come from; `process` is one. */
interface Signals {
  on(name: NodeJS.Signals | 'exit', listener: (name: NodeJS.Signals) => void): unknown;
  off(name: NodeJS.Signals | 'exit', listener: (name: NodeJS.Signals) => void): unknown;
}

/** With what a terminal has, and a pipe does not. */
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
  /** Ends at once, without waiting for what still runs. */
  exit(code: number): never;
  /** The folder that the command stands in. Throws where it does not exist any more. */
  cwd(): string;
  /** The file that was started, from which a hook or a server is started again. */
  main: string;
}

/** The folder that the command stands in. Throws NOT_A_REPOSITORY where it does not exist any more. */
export function readWorkingDirectory(context: CliContext): string {
  try {
    return context.cwd();
  } catch (error) {
    const message = 'The folder that you are in does not exist any more.';
    throw new TeddyError('NOT_A_REPOSITORY', message, 'Change to a folder of your repository.', { cause: error });
  }
}

/** The folder, environment and input with which the paths and programs of the user are opened. */
export function toSurroundings(context: CliContext): Pick<CliContext, 'env' | 'stdin'> & { cwd: string } {
  return { cwd: readWorkingDirectory(context), env: context.env, stdin: context.stdin };
}

/** A path that the user has given. */
export function resolvePath(context: CliContext, path: string): string {
  return resolve(readWorkingDirectory(context), path);
}

export function isDebug({ env }: CliContext): boolean {
  return env['TEDDY_DEBUG'] === '1';
}
