/**
 * Which branch a session goes back to is a word of its first commit. That of a session from elsewhere is somebody else's word: it
 * moves no branch but the default one unless a person agrees.
 */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { hasRemote } from './foreign-texts.ts';
import { type BaseStart, readDefaultBranches } from '../../session/lines.ts';

/** Notes that the session was begun here, where that will matter: on another branch than the default one. */
export async function rememberStart(project: Project, { branch, oid }: BaseStart): Promise<void> {
  if (!(await isDefault(project, branch))) await project.trust.add([oid]);
}

/** `command`: it lands there without a question. Throws NOT_APPROVED. */
export async function requireOwnStart(
  project: Project,
  name: string,
  { branch, oid }: BaseStart,
  command: string,
): Promise<void> {
  if ((await isDefault(project, branch)) || !(await hasRemote(project)) || (await project.trust.has(oid))) return;
  const question = `${name} was not begun here, and names ${branch} as the branch to land on. Land it there?`;
  if (await project.notices.confirm?.(question)) return project.trust.add([oid]);
  throw new TeddyError(
    'NOT_APPROVED',
    `${name} was not begun here, and names ${branch} as the branch to land on. Nothing was landed.`,
    `To land it there: \`${command}\`.`,
  );
}

/** Also the one that `origin/HEAD` stands for, as far as their commits tell. */
async function isDefault(project: Project, branch: string): Promise<boolean> {
  const defaults = await readDefaultBranches(project);
  if (defaults.some(({ ref }) => ref === `refs/heads/${branch}`)) return true;
  const head = defaults.find(({ ref }) => ref.startsWith('refs/remotes/'));
  return head !== undefined && (await project.repository.store.resolve(`refs/remotes/origin/${branch}`)) === head.oid;
}
