import { archiveOption, ShareCommand } from './share-command.ts';
import { usage } from '../../teddy-command.ts';

export class SessionSyncCommand extends ShareCommand {
  static override usage = usage({
    category: 'Elsewhere',
    description: 'Pull and push until a session is the same here and on a remote.',
    details: `
      Runs \`teddy pull\` and \`teddy push\`, and repeats both if somebody else pushed first, at most five times.
      When two clones have both synced, they have the same branches. The session is the one that HEAD is on, or else
      the newest open one; -s names another, and --all syncs all of them. Without a remote, it pulls from the one that
      \`teddy pull\` uses, and pushes to the one that \`teddy push\` uses.

      From the remote's archive, sync takes the sessions that are here or named, and those of each month that you name
      with --archive.

      If both sides added to a branch, the remote's commits keep its name, and the local ones become a conversation
      branch, \`--<turn>-branch-<number>\`; if HEAD was on the branch, it moves along.

      A branch that was deleted or archived on the remote stays here, and is not sent again until it has more commits;
      \`teddy push -s\` sends it. A branch on the remote that has nothing beyond what is archived here stays there,
      and is not fetched again.

      Exit codes: 0 done, or nothing to do; 1 something was rejected; 2 no such remote or session; 3 a work tree is in
      the way, the remote is empty or keeps changing, another session there has the name of one here, or the push
      would include a secret or a faulty branch; 5 the remote cannot be reached, or refused.
    `,
    examples: [
      ['The session that HEAD is on, with origin', '$0 sync'],
      ['Everything', '$0 sync --all'],
      ['Include the archive of two months', '$0 sync --all --archive 2026-01 --archive 2026-02'],
      ['Preview it', '$0 sync --dry-run'],
    ],
  });

  protected override readonly archive = archiveOption();
  protected readonly verb = 'sync';
  protected load = async () => (await import('../../../workflow/sharing/sync-sessions.ts')).syncSessions;
}
