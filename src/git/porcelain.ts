/**
 * git through simple-git, for what needs no signals: the names and addresses of remotes, and the clone of a bundle.
 *
 * The rest stays with `run.ts`. Measured with simple-git 4.0.2: its children share the group of the terminal, so that Ctrl-C ended
 * a `git switch` between two files, which it took for a success; `git worktree add`, `merge` and `clone` into a place of the user's
 * have the same fault. It keeps all that a server says: 916 MB for 300 MB, where `remote-call.ts` takes 85 MB. Of the four phases
 * of a fetch its progress events name two. A command that prints nothing takes 59 ms in place of 7.
 */
import { toGitFailure } from './git-failure.ts';
import { fixedSettings, gitMissingError, type Environment } from './run.ts';
import type { SimpleGit } from 'simple-git';

/** `env`: all that its children get. Each method rejects with git's own words, also when a signal has ended git. */
export async function openPorcelain(cwd: string, env: Environment): Promise<SimpleGit> {
  const { simpleGit } = await import('simple-git');
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return simpleGit({
    baseDir: cwd,
    config: fixedSettings,
    // The environment and the settings are those of all other calls of git: the user's, who may have set each of these.
    allowEnvironment: Object.keys(set),
    unsafe: {
      allowUnsafeAskPass: true,
      allowUnsafeConfigEnvCount: true,
      allowUnsafeConfigPaths: true,
      allowUnsafeEditor: true,
      allowUnsafeHooksPath: true,
      allowUnsafePager: true,
      allowUnsafeSshCommand: true,
      allowAbbreviatedOptions: true,
    },
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
  return Buffer.from(exitCode === null ? 'a signal ended it' : stderr);
}

/** The answer of `git <command>`. Throws GIT_MISSING, or what `git-failure.ts` makes of git's words. */
export async function answerOf<Value>(command: string, answer: PromiseLike<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    const { message } = error as Error;
    if (/\bENOENT\b/.test(message)) throw gitMissingError();
    throw toGitFailure(command, { exitCode: 1, signal: null, stderr: message });
  }
}
