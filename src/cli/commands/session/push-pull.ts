import { archiveOption, ShareCommand } from './share-command.ts';
import { usage } from '../../teddy-command.ts';

export class SessionPushCommand extends ShareCommand {
  static override usage = usage({
    category: 'Elsewhere',
    description: 'Send a session to a remote.',
    details: `
      Sends the main branch, its conversation branches, its archive, and teddy/global, with the commits that they
      build on, as git does. The session is the one that HEAD is on, or else the newest open one; -s names another,
      and --all sends all of them. The remote is a name that git knows, a URL or a path; without it, the first of
      teddy.sessionsRemote, branch.<name>.pushRemote, remote.pushDefault, the branch's upstream, origin, or the only
      remote.

      Nothing is ever forced. If the remote has more, \`teddy sync\` pulls that first. A branch that the remote's
      rules refuse does not stop the others: teddy names it, and exits with 1. Nothing is deleted there: a branch that \`teddy archive\` put away here stays on the remote,
      and only \`teddy archive\` with --remote deletes it. A branch that was deleted or archived there is not sent
      again until it has more commits, unless -s names it. Before sending, teddy verifies the branches and searches
      them for secrets.

      Exit codes: 0 done, or nothing to do; 1 the remote refused some branches; 2 no such remote or session; 3 the
      remote is ahead, is empty, or has changed in the meantime, or the push would include a secret or a faulty branch;
      5 the remote cannot be reached, or refused everything.
    `,
    examples: [
      ['The session that HEAD is on, to origin', '$0 push'],
      ['Preview what would be sent', '$0 push --dry-run'],
      ['All sessions, to another repository', '$0 push ssh://git.example.org/notes.git --all'],
    ],
  });

  protected readonly verb = 'push';
  protected load = async () => (await import('../../../workflow/sharing/push-sessions.ts')).pushSessions;
}

export class SessionPullCommand extends ShareCommand {
  static override usage = usage({
    category: 'Elsewhere',
    description: 'Get a session from a remote.',
    details: `
      Fetches the main branch, its conversation branches, its archive, and teddy/global, and updates the remote-tracking
      branches, and the copy of the remote's refs/notes/teddy. The session is the one that HEAD is on; if HEAD is on
      none, pull takes all sessions. -s names a session, and --all takes all of them. The remote is a name that git
      knows, a URL or a path; without it, the first of teddy.sessionsRemote, the branch's remote, origin, or the only
      remote.

      From the remote's archive, pull takes the sessions that are here or named, and those of each month that you name
      with --archive.

      No branch moves before teddy has checked the incoming names, paths, sizes, entries and trailers. A branch that
      does not pass is rejected and named; the others are accepted. If both sides added to a branch, the remote's
      commits keep its name, and the local ones go to a conversation branch: nothing is lost, and nothing conflicts. A
      branch that is checked out is fast-forwarded in its work tree, which has to be clean. The memos of both sides
      are merged.

      Exit codes: 0 done, or nothing to do; 1 something was rejected; 2 no such remote or session; 3 a work tree is in
      the way, so its branch does not move, or another session there has the name of one here; 5 the remote cannot be
      reached, or refused.
    `,
    examples: [
      ['The session that HEAD is on, from origin', '$0 pull'],
      ['A session that is only on the remote', '$0 pull -s add-user-auth'],
      ['Everything, from another clone', '$0 pull ../other-clone --all'],
    ],
  });

  protected override readonly archive = archiveOption();
  protected readonly verb = 'pull';
  protected load = async () => (await import('../../../workflow/sharing/pull-sessions.ts')).pullSessions;
}
