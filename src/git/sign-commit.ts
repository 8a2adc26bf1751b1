/** Commits that carry the user's signature: git itself makes them, since it knows the user's programs and keys. */
import { TeddyError } from '../errors.ts';
import type { Commit } from '../ports/git.ts';
import { parseOid, type Oid } from '../names.ts';
import type { GitRunner } from './run.ts';

/**
 * The same commit with a signature, as `commit.gpgSign` would make it. Its tree has to be there. Nobody is asked for a
 * passphrase at the terminal: an agent has to know it. Throws SIGNING_FAILED.
 */
export async function signCommit(git: GitRunner, { tree, parents, author, committer, message }: Commit): Promise<Oid> {
  const args = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', '-S', '-F', '-'];
  const { exitCode, stdout, stderr } = await git.run([...args, ...parents.flatMap((parent) => ['-p', parent]), tree], {
    input: message,
    env: { ...toVariables('AUTHOR', author), ...toVariables('COMMITTER', committer) },
    accept: [1, 128],
  });
  if (exitCode === 0) return parseOid(stdout.toString('utf8').trim());
  throw new TeddyError(
    'SIGNING_FAILED',
    `git could not sign: ${stderr.trim().split('\n').slice(0, 3).join(' ')}`,
    'See that `git commit -S` works without asking, or `git config teddy.sign false`.',
  );
}

/** `Name <email> <seconds> <zone>`. */
function toVariables(role: 'AUTHOR' | 'COMMITTER', ident: string): Record<string, string> {
  const [, name = '', email = '', date = ''] = /^(.*?) ?<(.*)> (\d+ [+-]\d{4})$/.exec(ident) ?? [];
  return { [`GIT_${role}_NAME`]: name, [`GIT_${role}_EMAIL`]: email, [`GIT_${role}_DATE`]: `@${date}` };
}
