/**
 * Runs git through simple-git, for queries that change nothing: the addresses of remotes.
 *
 * Everything else uses `run.ts`. Measured with simple-git 4.0.2: its children share the terminal's process group, so
 * Ctrl-C ended a `git switch` between two files, and simple-git took that for a success; `git worktree add`, `merge`,
 * `clone`, `fetch` and `push` have the same problem. It keeps everything that a server prints: 916 MB for 300 MB, while
 * `remote-call.ts` takes 85 MB. Its progress events cover two of the four phases of a fetch. A command that prints
 * nothing takes 59 ms instead of 7.
 */
import type { SimpleGit, SimpleGitOptions } from 'simple-git';
import { GitKilledError } from '../../errors.ts';
import { toGitFailure } from './git-failure.ts';
import { fixedSettings, gitMissingError, maxDeaths, type Environment } from './run.ts';

/** Allows everything, because the user's environment may configure any of these, as for all other git calls. */
const allowed: Required<NonNullable<SimpleGitOptions['unsafe']>> = {
  allowAbbreviatedOptions: true,
  allowUnsafeAlias: true,
  allowUnsafeAskPass: true,
  allowUnsafeCommandBinaries: true,
  allowUnsafeConfigEnvCount: true,
  allowUnsafeConfigPaths: true,
  allowUnsafeCredentialHelper: true,
  allowUnsafeCustomBinary: true,
  allowUnsafeDiffExternal: true,
  allowUnsafeDiffTextConv: true,
  allowUnsafeEditor: true,
  allowUnsafeExec: true,
  allowUnsafeFilter: true,
  allowUnsafeFsMonitor: true,
  allowUnsafeGitProxy: true,
  allowUnsafeGpgProgram: true,
  allowUnsafeHooksPath: true,
  allowUnsafeInclude: true,
  allowUnsafeMergeDriver: true,
  allowUnsafePack: true,
  allowUnsafePager: true,
  allowUnsafeProtocolOverride: true,
  allowUnsafeSshCommand: true,
  allowUnsafeSubmodule: true,
  allowUnsafeTemplateDir: true,
  allowUnsafeUrlRewrite: true,
};

const endedBySignal = 'a signal ended it';

/** Opens simple-git; its children get only `env`. Methods reject with git's message, or with `endedBySignal`. */
export async function openPorcelain(cwd: string, env: Environment): Promise<SimpleGit> {
  const { simpleGit } = await import('simple-git');
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return simpleGit({
    baseDir: cwd,
    config: fixedSettings,
    allowEnvironment: Object.keys(set),
    unsafe: allowed,
    // By default, simple-git treats a git ended by a signal as a success.
    errors: (error, { exitCode, stdErr }) => toError(error, exitCode, Buffer.concat(stdErr).toString('utf8')),
  }).env(set);
}

/** Decides whether a call failed. Contrary to simple-git's types, the exit code is null when a signal ended the child. */
function toError(
  error: Buffer | Error | undefined,
  exitCode: number | null,
  stderr: string,
): Buffer | Error | undefined {
  if (exitCode === 0) return undefined;
  if (error instanceof Error) return error;
  return Buffer.from(exitCode === null ? endedBySignal : stderr);
}

/**
 * Asks `git <command>`, and asks again when a signal ended git, because Ctrl-C reaches git too but teddy handles the
 * signal. Throws GIT_MISSING, GIT_FAILED, or the error that `git-failure.ts` derives from git's message.
 */
export async function answerOf<Value>(command: string, ask: () => PromiseLike<Value>): Promise<Value> {
  for (let asked = 1; ; asked += 1) {
    try {
      return await ask();
    } catch (error) {
      const { message } = error as Error;
      if (/\bspawn git ENOENT\b/.test(message)) throw gitMissingError();
      if (message !== endedBySignal) throw toGitFailure(command, { exitCode: 1, signal: null, stderr: message });
      if (asked === maxDeaths) {
        throw new GitKilledError(
          `git ${command} was killed.`,
          'Find out what kills it (memory, a limit, a user), and run the command again.',
        );
      }
    }
  }
}
