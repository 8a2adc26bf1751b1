/** Takes what a remote has: checked in quarantine before a ref here moves. */
import type { Project } from '../../ports/project.ts';
import { chooseScope } from './choose-session.ts';
import { chooseRemote } from './choose-remote.ts';
import { repair } from '../line/repair.ts';
import { retryWhileChanged, sortLines, type Shared, type ShareRequest } from './shared-line.ts';
import { listMonthsLeft, readSides } from './shared-refs.ts';
import { takeIn } from './take-in.ts';

/**
 * The lines of a session and `teddy/global`, as branches here. Where both sides have added something, what was only here goes to a
 * conversation branch of its own. A line that is kept out, or whose work tree is in the way, has its `problem`; the others are
 * taken. Throws UNKNOWN_REMOTE, UNKNOWN_SESSION, REMOTE_CHANGED, and as `Remotes`.
 */
export async function pullSessions(
  project: Project,
  request: ShareRequest,
  { offLine }: { offLine: 'open' | 'all' } = { offLine: 'all' },
): Promise<Shared> {
  await repair(project);
  const remote = await chooseRemote(project, request.remote, { isPush: false });
  return retryWhileChanged(request.signal, async () => {
    const sides = await readSides(project, remote, request);
    const scope = await chooseScope(project, { ...request, offLine }, sides);
    const { lines, tips, notes } = await takeIn(project, { ...sides, scope }, request);
    const monthsLeft = listMonthsLeft(scope, sides.listed, [...tips, ...lines]);
    // A line that is only here needs no pull.
    return { remote, session: scope.session, lines: sortLines(lines), leftOut: [], monthsLeft, notes, refusal: null };
  });
}
