import { archiveOption, ShareCommand } from './share-command.ts';
import { usage } from '../../teddy-command.ts';

export class SessionPushCommand extends ShareCommand {
  static override usage = usage({
    category: 'Elsewhere',
    description: 'Send a session to a remote.',
    details: `
      It sends the main line, its branches, what is archived of it, and teddy/global, with the commits below, as
      git does. The session is the one that HEAD is on, else the newest open one; -s names another, and --all sends
      all of them. The remote is a name that git knows, a URL or a path; without it, it is the one that
      teddy.sessionsRemote names, else branch.<name>.pushRemote, remote.pushDefault, the one that the branch
      follows, origin, or the only one.

      Either everything arrives or nothing does, and nothing is ever forced. If the remote has more, \`session
      sync\` takes that first. Nothing is deleted there: a branch that \`session archive\` put away here stays on the
      remote, and only \`session archive\` with --remote deletes it. A branch that was deleted or archived there is
      not sent again until it has more, unless -s names it. teddy verifies what would leave, and searches it for
      secrets.

      Exit codes: 0 done, or nothing to do; 2 no such remote or session; 3 the remote is ahead, is empty, or has
      changed meanwhile, or a secret or a faulty line would leave; 5 the remote cannot be reached, or refused.
    `,
    examples: [
      ['The session that HEAD is on, to origin', '$0 session push'],
      ['What would be sent', '$0 session push --dry-run'],
      ['All sessions, to another place', '$0 session push ssh://git.example.org/notes.git --all'],
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
      The main line, its branches, what is archived of it, and teddy/global become branches here, and the
      remote-tracking branches follow. The session is the one that HEAD is on; if HEAD is on none, pull takes all
      sessions. -s names a session, and --all takes all of them. The remote is a name that git knows, a URL or a
      path; without it, it is the one that teddy.sessionsRemote names, else the one of the branch, origin, or the
      only one.

      Of what is archived on the remote, pull takes the sessions that are here or named, and those of each month
      that you give with --archive.

      Nothing here moves before teddy has checked what came: names, paths, sizes, entries, trailers. A line that
      does not pass stays out and is named; the others are taken. If both sides added to a line, the remote's
      commits keep its name, and what was only here goes to a conversation branch of its own: nothing is lost,
      and nothing conflicts. A line that is checked out moves ahead in its work tree, which has to be clean for
      that. The memos of both sides are merged.

      Exit codes: 0 done, or nothing to do; 1 something was kept out; 2 no such remote or session; 3 a work tree
      is in the way, so its line stays, or another session there has the name of one here; 5 the remote cannot
      be reached, or refused.
    `,
    examples: [
      ['The session that HEAD is on, from origin', '$0 session pull'],
      ['One that is only there', '$0 session pull -s add-user-auth'],
      ['Everything, from another clone', '$0 session pull ../other-clone --all'],
    ],
  });

  protected override readonly archive = archiveOption();
  protected readonly verb = 'pull';
  protected load = async () => (await import('../../../workflow/sharing/pull-sessions.ts')).pullSessions;
}
