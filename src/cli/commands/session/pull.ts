import { Command } from 'clipanion';
import type { Project } from '../../../ports/project.ts';
import type { Shared, ShareRequest } from '../../../workflow/sharing/shared-line.ts';
import { ShareCommand } from './share-command.ts';

export class SessionPullCommand extends ShareCommand {
  static override paths = [['session', 'pull']];
  static override usage = Command.Usage({
    category: 'Elsewhere',
    description: 'Take what a remote has of a session.',
    details: `
      The main line, its branches, what is archived of it, and teddy/global become branches here, and the remote-tracking branches
      follow. It is the session that HEAD is on; with HEAD on none, all that the remote has. -s names one, and --all takes all.

      Nothing here moves before what came is checked: names, paths, sizes, entries, trailers. A line that does not pass stays
      out and is named; the others are taken. Where both sides have added to a line, the remote's commits keep its name, and
      what was only here goes to a conversation branch of its own: nothing is lost, and nothing conflicts. A line that is
      checked out moves ahead in its work tree, which has to be clean for that. Memos of both sides are put together.

      Exit codes: 0 done, or nothing to do; 1 something was kept out; 2 no such remote or session; 3 a work tree is in the
      way, and its line stays, or another session there has the name of one here; 5 the remote is not reached, or has refused.
    `,
    examples: [
      ['The session that HEAD is on, from origin', '$0 session pull'],
      ['One that is only there', '$0 session pull -s add-user-auth'],
      ['Everything, from another clone', '$0 session pull ../other-clone --all'],
    ],
  });

  protected readonly verb = 'pull';

  protected async share(project: Project, request: ShareRequest): Promise<Shared> {
    const { pullSessions } = await import('../../../workflow/sharing/pull-sessions.ts');
    return pullSessions(project, request);
  }
}
