/** Who the commits are of, as git itself would say. */
import { TeddyError } from '../errors.ts';
import type { Ident } from '../ports/git.ts';
import { toGitFailure } from './git-failure.ts';
import type { Environment, GitRunner } from './run.ts';

/** Asks git once: names do not change within a command. The time is that of each commit, unless the user has set one. */
export function identReader(
  git: GitRunner,
  env: Environment,
  settings: () => Promise<ReadonlyMap<string, unknown>>,
): () => Promise<Ident> {
  let asked: Promise<Ident> | undefined;
  return async () => {
    asked ??= readIdent(git, env, settings);
    const { author, committer } = await asked;
    return {
      author: env['GIT_AUTHOR_DATE'] ? author : atThisTime(author),
      committer: env['GIT_COMMITTER_DATE'] ? committer : atThisTime(committer),
    };
  };
}

async function readIdent(
  git: GitRunner,
  env: Environment,
  settings: () => Promise<ReadonlyMap<string, unknown>>,
): Promise<Ident> {
  const names = [...Object.keys(env).filter((key) => env[key] !== undefined), ...(await settings()).keys()];
  // Without a setting for one of them they are the same, and one process is enough.
  if (!names.some((name) => /^(?:GIT_(?:AUTHOR|COMMITTER)_|(?:author|committer)\.)/.test(name))) {
    const both = await readVariable(git, 'GIT_COMMITTER_IDENT');
    return { author: both, committer: both };
  }
  const [author, committer] = await Promise.all([
    readVariable(git, 'GIT_AUTHOR_IDENT'),
    readVariable(git, 'GIT_COMMITTER_IDENT'),
  ]);
  return { author, committer };
}

/** git's own words where it knows no name or no address. */
const withoutIdentity =
  /tell me who you are|ident name|auto-detect|auto-detection is disabled|no (?:name|email) was given|disallowed characters/i;

async function readVariable(git: GitRunner, name: string): Promise<string> {
  const { exitCode, stdout, stderr } = await git.run(['var', name], { accept: [1, 128] });
  if (exitCode === 0) return stdout.toString('utf8').trimEnd();
  if (!withoutIdentity.test(stderr)) throw toGitFailure('var', { exitCode, signal: null, stderr });
  throw new TeddyError(
    'NO_IDENTITY',
    'git does not know who you are, and every entry is a commit of yours.',
    'Run `git config --global user.name "Your Name"` and `git config --global user.email you@example.com`.',
  );
}

/** `Name <email> <seconds> <zone>` */
function atThisTime(ident: string): string {
  return ident.replace(/\d+ ([+-]\d{4})$/, `${Math.floor(Date.now() / 1000)} $1`);
}
