/**
 * Which branch a session goes back to is a word of its first commit. That of a session from elsewhere is somebody else's word: it
 * moves no branch but the default one unless a person agrees.
 */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { hasRemote } from './foreign-texts.ts';
import { type BaseStart, readDefaultBranches } from '../../session/lines/lines.ts';
import { shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { moveRefs } from './move-refs.ts';
import { cutBeforeStart, cutOffError } from './session-start.ts';

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

/** Makes the local branch of a line that only a remote has, as `git switch` does; a plain `git fetch` has brought it, and nobody has looked at it. */
interface RemoteLine {
  ref: RefName;
  session: SessionId;
  /** The tip of the remote-tracking branch; null when the line has no commit anywhere. */
  remoteTip: Oid | null;
}

/** The branch's tip. It is checked as `pull` checks what arrives. Throws SHALLOW_CLONE, HOSTILE_SESSION, UNKNOWN_SESSION. */
export async function makeLocal(project: Project, { ref, session, remoteTip }: RemoteLine): Promise<Oid> {
  if (remoteTip === null)
    throw new TeddyError('UNKNOWN_SESSION', `${ref} has no commit.`, '`teddy session list` shows the lines.');
  const reason = await project.judgeLine(project, { ref, tip: remoteTip, session });
  if (reason === cutBeforeStart) throw cutOffError(`No local branch was made of ${shortRef(ref)}`);
  if (reason !== null)
    throw new TeddyError(
      'HOSTILE_SESSION',
      `No local branch was made of ${shortRef(ref)}: it fails the checks (${reason.replace(/\.$/, '')}).`,
      `To look at it: \`teddy session verify ${remoteTip.slice(0, 16)}\`. Ask whoever pushed it.`,
    );
  await moveRefs(project, [{ ref, old: null, new: remoteTip }], 'from the remote');
  project.notices.info(`Made the local branch ${shortRef(ref)}.`);
  return remoteTip;
}
