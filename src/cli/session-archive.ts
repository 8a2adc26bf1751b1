import { Command, Option } from 'clipanion';
import { TeddyError } from '../errors.ts';
import { shortRef } from '../session/names.ts';
import { toShellWord } from '../session/shell-word.ts';
import type { ArchivedSession } from '../workflow/landing/archive-session.ts';
import type { RestoredSession } from '../workflow/landing/restore-archived.ts';
import { toTarget } from './session-land.ts';
import { TeddyCommand } from './teddy-command.ts';
import { toVisible, type Terminal } from './terminal.ts';

export class SessionArchiveCommand extends TeddyCommand {
  static override paths = [['session', 'archive']];
  static override usage = Command.Usage({
    category: 'Land',
    description: 'Put the branches of a session away; nothing of it is lost.',
    details: `
      The main line and all conversation branches go, and refs/teddy/archive/ keeps what was on them: \`history\`, \`replay\` and \`verify\` still find the session by its id. It need not have landed.
      A branch that is checked out in any work tree stops it, and nothing has changed then. Branches on a remote stay.

      Exit codes: 0 done, or archived before; 2 no such session; 3 a branch is checked out, or an archive of that name holds something else.
    `,
    examples: [
      ['A session that has landed', '$0 session archive add-user-auth'],
      ['Bring it back', '$0 session archive --restore add-user-auth'],
    ],
  });

  target = Option.String({ name: 'session', required: false });
  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });
  restore = Option.Boolean('--restore', false, { description: 'Make the branches again; the archive stays as well.' });

  protected run(terminal: Terminal): Promise<number> {
    const target = toTarget(this.target, this.session);
    return this.withProject(terminal, async (project) => {
      if (this.restore) {
        const { restoreArchived } = await import('../workflow/landing/restore-archived.ts');
        const restored = await restoreArchived(project, requireTarget(target));
        if (this.json) this.printJson(terminal, 'session-archive', { ...toJson(restored), restored: true });
        else showRestored(terminal, restored);
        return 0;
      }
      const { archiveSession } = await import('../workflow/landing/archive-session.ts');
      const archived = await archiveSession(project, target);
      const { workTrees } = archived;
      if (this.json) this.printJson(terminal, 'session-archive', { ...toJson(archived), restored: false, workTrees });
      else showArchived(terminal, archived);
      return 0;
    });
  }
}

function requireTarget(target: string | undefined): string {
  if (target !== undefined) return target;
  const hint = '`git for-each-ref refs/teddy/archive/` shows what is archived.';
  throw new TeddyError('USAGE', 'Nothing says which session to bring back.', hint);
}

function toJson({ session, lines }: RestoredSession): object {
  return { session, lines: lines.map(({ branch, ...line }) => ({ branch: shortRef(branch), ...line })) };
}

function showArchived(terminal: Terminal, { session, lines, workTrees }: ArchivedSession): void {
  if (lines.length === 0) return terminal.say(`${session} is archived already.`);
  const warning = terminal.style('yellow', 'warning:', 'stderr');
  for (const { branch, hasLanded } of lines)
    if (!hasLanded) terminal.say(`${warning} ${shortRef(branch)} has not landed: its code is on no branch now.`);
  for (const { branch, archive } of lines) terminal.print(`${shortRef(branch)} is now ${archive}\n`);
  for (const root of workTrees)
    terminal.say(toVisible(`Its work tree is still there: teddy worktree remove ${toShellWord(root)}`));
  terminal.say(`To bring it back: teddy session archive --restore ${session}`);
}

function showRestored(terminal: Terminal, { session, lines }: RestoredSession): void {
  if (lines.length === 0) return terminal.say(`The branches of ${session} are there already.`);
  for (const { branch } of lines) terminal.print(`${shortRef(branch)}\n`);
  const [first] = lines;
  if (first !== undefined) terminal.say(`To work on it: git switch ${shortRef(first.branch)}`);
}
