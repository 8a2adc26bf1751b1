/**
 * A session's first commit names the branch to land on. In a session from elsewhere, somebody else chose that branch,
 * so teddy moves only the default branch unless the user agrees.
 */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { hasRemote } from './foreign-texts.ts';
import { type BaseStart, readDefaultBranches } from '../../session/lines/lines.ts';
import { shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { moveRefs } from './move-refs.ts';
import { cutBeforeStart, cutOffError } from './session-start.ts';

/** Records that the session began here. This matters only for a branch other than the default one. */
export async function rememberStart(project: Project, { branch, oid }: BaseStart): Promise<void> {
  if (!(await isDefault(project, branch))) await project.trust.add([oid]);
}

/**
 * Asks before a session from elsewhere lands on a branch other than the default one. `command` lands it there without
 * asking. Throws NOT_APPROVED.
 */
export async function requireOwnStart(
  project: Project,
  name: string,
  { branch, oid }: BaseStart,
  command: string,
): Promise<void> {
  if ((await isDefault(project, branch)) || !(await hasRemote(project)) || (await project.trust.has(oid))) return;
  const question = `${name} was not started here, and names ${branch} as the branch to land on. Land it there?`;
  if (await project.notices.confirm?.(question)) return project.trust.add([oid]);
  throw new TeddyError(
    'NOT_APPROVED',
    `${name} was not started here, and names ${branch} as the branch to land on. Nothing was landed.`,
    `To land it there: \`${command}\`.`,
  );
}

/**
 * Returns true if the branch is a default one, including the branch that `origin/HEAD` points to if the local commits
 * show it.
 */
async function isDefault(project: Project, branch: string): Promise<boolean> {
  const defaults = await readDefaultBranches(project);
  if (defaults.some(({ ref }) => ref === `refs/heads/${branch}`)) return true;
  const head = defaults.find(({ ref }) => ref.startsWith('refs/remotes/'));
  return head !== undefined && (await project.repository.store.resolve(`refs/remotes/origin/${branch}`)) === head.oid;
}

/** A line that exists only on a remote: a plain `git fetch` fetched it, and nobody has checked it. */
interface RemoteLine {
  ref: RefName;
  session: SessionId;
  /** The tip of the remote-tracking branch; null when the line has no commit anywhere. */
  remoteTip: Oid | null;
}

/**
 * Makes the local branch, as `git switch` does, and returns its tip. Checks it as `pull` checks incoming lines. Throws
 * SHALLOW_CLONE, HOSTILE_SESSION, UNKNOWN_SESSION.
 */
export async function makeLocal(project: Project, { ref, session, remoteTip }: RemoteLine): Promise<Oid> {
  if (remoteTip === null)
    throw new TeddyError(
      'UNKNOWN_SESSION',
      `${ref} has no commit.`,
      '`teddy list` shows the sessions and their branches.',
    );
  const reason = await project.judgeLine(project, { ref, tip: remoteTip, session });
  if (reason === cutBeforeStart) throw cutOffError(`No local branch was created for ${shortRef(ref)}`);
  if (reason !== null)
    throw new TeddyError(
      'HOSTILE_SESSION',
      `No local branch was created for ${shortRef(ref)}: it fails the checks (${reason.replace(/\.$/, '')}).`,
      `To look at it: \`teddy verify ${remoteTip.slice(0, 16)}\`. Ask whoever pushed it.`,
    );
  await moveRefs(project, [{ ref, old: null, new: remoteTip }], 'from the remote');
  project.notices.info(`Created the local branch ${shortRef(ref)}.`);
  return remoteTip;
}
