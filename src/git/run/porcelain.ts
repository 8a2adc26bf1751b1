/**
 * git through simple-git, for questions that change nothing: the addresses of remotes.
 *
 * The rest stays with `run.ts`. Measured with simple-git 4.0.2: its children share the group of the terminal, so that Ctrl-C ended
 * a `git switch` between two files, which it took for a success; `git worktree add`, `merge`, `clone`, `fetch` and `push` have the
 * same fault. It keeps all that a server says: 916 MB for 300 MB, where `remote-call.ts` takes 85 MB. Of the four phases of a fetch
 * its progress events name two. A command that prints nothing takes 59 ms in place of 7.
 */
import type { SimpleGit, SimpleGitOptions } from 'simple-git';
import { GitKilledError } from '../../errors.ts';
import { toGitFailure } from './git-failure.ts';
import { fixedSettings, gitMissingError, maxDeaths, type Environment } from './run.ts';

/** The user's environment may configure any of these, as it may for all other calls of git. The type has every one. */
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

/** `env`: all that its children get. Each method rejects with git's own words, also when a signal has ended git. */
export async function openPorcelain(cwd: string, env: Environment): Promise<SimpleGit> {
  const { simpleGit } = await import('simple-git');
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return simpleGit({
    baseDir: cwd,
    config: fixedSettings,
    allowEnvironment: Object.keys(set),
    unsafe: allowed,
    // Its own rule takes a git that a signal ended for one that has succeeded.
    errors: (error, { exitCode, stdErr }) => toError(error, exitCode, Buffer.concat(stdErr).toString('utf8')),
  }).env(set);
}

/** simple-git has null for the exit code of a child that a signal ended, which its types do not say. */
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
 * Asks `git <command>`, and again when a signal ended it: Ctrl-C reaches git too, and teddy answers it itself. Throws GIT_MISSING,
 * GIT_FAILED, or what `git-failure.ts` makes of git's words.
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
          'See what kills it (memory, a limit, a user), and run the command again.',
        );
      }
    }
  }
}
