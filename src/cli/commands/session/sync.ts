import { archiveOption, ShareCommand } from './share-command.ts';
import { usage } from '../../teddy-command.ts';

export class SessionSyncCommand extends ShareCommand {
  static override usage = usage({
    category: 'Elsewhere',
    description: 'Pull, then push, until a session is the same here and on a remote.',
    details: `
      It runs \`session pull\` and \`session push\`, and both again if somebody else is faster, at most five times.
      When two clones have both synced, they hold the same branches. The session is the one that HEAD is on,
      else the newest open one; -s names another, and --all takes and sends all of them. Without the name of a
      remote, it pulls from the remote that \`session pull\` takes, and pushes to the one that \`session push\` takes.

      Of what is archived on the remote, sync takes the sessions that are here or named, and those of each month
      that you give with --archive.

      If both sides added to a line, the remote's commits keep its name, and what was only here becomes a
      conversation branch, \`--<turn>-branch-<number>\`; if HEAD was on the line, it goes along.

      A branch that was deleted or archived on the remote stays here, and is not sent again until it has more;
      \`session push -s\` sends it. A branch there that has nothing beyond what is archived here stays there, and
      does not come back.

      Exit codes: 0 done, or nothing to do; 1 something was kept out; 2 no such remote or session; 3 a work tree
      is in the way, the remote is empty or keeps changing, another session there has the name of one here, or a
      secret or a faulty line would leave; 5 the remote cannot be reached, or refused.
    `,
    examples: [
      ['The session that HEAD is on, with origin', '$0 session sync'],
      ['Everything', '$0 session sync --all'],
      ['With what was archived of two months', '$0 session sync --all --archive 2026-01 --archive 2026-02'],
      ['What would happen', '$0 session sync --dry-run'],
    ],
  });

  protected override readonly archive = archiveOption();
  protected readonly verb = 'sync';
  protected load = async () => (await import('../../../workflow/sharing/sync-sessions.ts')).syncSessions;
}
