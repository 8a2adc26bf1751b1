/** Pulls a remote's lines and checks them in quarantine before any local ref moves. */
import type { Project } from '../../ports/project.ts';
import { chooseScope } from './choose-session.ts';
import { chooseRemote } from './choose-remote.ts';
import { repair } from '../line/repair.ts';
import { retryWhileChanged, sortLines, type Shared, type ShareRequest } from './shared-line.ts';
import { listMonthsLeft, readSides } from './shared-refs.ts';
import { receiveBranches } from './take-in.ts';

/**
 * Pulls a session's lines and `teddy/global` as branches. When both sides have added commits, moves the local-only
 * commits to a conversation branch. A line that teddy refuses, or that its work tree blocks, gets a `problem`; teddy
 * pulls the others. Throws UNKNOWN_REMOTE, UNKNOWN_SESSION, REMOTE_CHANGED, and as `Remotes` does.
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
    const { lines, tips, notes } = await receiveBranches(project, { ...sides, scope }, request);
    const monthsLeft = listMonthsLeft(scope, sides.listed, [...tips, ...lines]);
    // A line that exists only in this repository needs no pull.
    return { remote, session: scope.session, lines: sortLines(lines), leftOut: [], monthsLeft, notes, refusal: null };
  });
}
