/** Makes the local branch of a line that only a remote has, as `git switch` does; a plain `git fetch` has brought it, and nobody has looked at it. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { moveRefs } from './move-refs.ts';
import { cutBeforeStart, cutOffError } from './session-start.ts';

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
