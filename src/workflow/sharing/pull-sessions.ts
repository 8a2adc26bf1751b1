/** Takes what a remote has: checked in quarantine before a ref here moves. */
import type { Project } from '../../ports.ts';
import { chooseRemote } from './choose-remote.ts';
import { chooseSession } from './choose-session.ts';
import { repairHere } from './repair-here.ts';
import { retryWhileChanged } from './retry-while-changed.ts';
import { sortLines, type Shared, type ShareRequest } from './shared-line.ts';
import { listedPrefixes } from './shared-refs.ts';
import { takeIn } from './take-in.ts';

/**
 * The lines of a session and `teddy/global`, as branches here. Where both sides have added something, what was only here goes to a
 * conversation branch of its own. A line that is kept out, or whose work tree is in the way, has its `problem`; the others are
 * taken. Throws UNKNOWN_REMOTE, UNKNOWN_SESSION, REMOTE_CHANGED, and as `Remotes`.
 */
export async function pullSessions(project: Project, request: ShareRequest): Promise<Shared> {
  await repairHere(project);
  const remote = await chooseRemote(project, request.remote, { isPush: false });
  return retryWhileChanged(request.signal, async () => {
    const { refs: listed } = await project.repository.remotes.list(remote.name, listedPrefixes, request);
    const session = await chooseSession(project, { ...request, offLine: 'all' }, listed);
    const { lines, notes } = await takeIn(project, { remote, session, listed }, request);
    return { remote, session, lines: sortLines(lines), notes, refusal: null };
  });
}
