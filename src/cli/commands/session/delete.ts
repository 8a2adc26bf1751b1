import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { shortRef } from '../../../names.ts';
import type { Deletion } from '../../../workflow/landing/delete-session.ts';
import { requireWholeName, toTarget } from './target-option.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionDeleteCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Put away',
    description: "Delete a session's local branches.",
    details: `
      Lists the main branch, the conversation branches and the archive of the session, with what has not landed and what
      is on no remote, and asks. The contents are kept below refs/teddy/keep/deleted/ for 30 days: --restore brings them
      back. After that, \`teddy doctor --fix\` deletes them permanently. Branches on a remote stay. To put a session
      away but keep it, use \`teddy archive\`.

      Exit codes: 0 done; 2 no such session; 3 a branch is checked out, or a turn, a run or a write session is not
      finished; 4 not approved.
    `,
    examples: [
      ['Delete a session that led nowhere', '$0 delete try-again'],
      ['Delete without being asked', '$0 delete try-again -y'],
      ['Restore it', '$0 delete --restore 20260124-try-again'],
    ],
  });

  target = parameter('session', { optional: true, completes: ['sessions'] });
  session = sessionOption();
  yes = option('-y,--yes', { describe: 'Delete without asking.' });
  restore = option('--restore', { describe: 'Restore what the last deletion of this session removed.' });

  protected run(terminal: Terminal): Promise<number> {
    const target = toTarget(this.target, this.session);
    if (target === undefined)
      throw new TeddyError(
        'USAGE',
        'You named no session.',
        this.restore
          ? '`git for-each-ref refs/teddy/keep/deleted/` shows what was deleted: `teddy delete --restore <session>`.'
          : 'Name one from `teddy list`: `teddy delete <session>`.',
      );
    return this.withProject(terminal, (project) =>
      this.restore ? this.bringBack(terminal, project, target) : this.remove(terminal, project, target),
    );
  }

  private async remove(terminal: Terminal, project: Project, target: string): Promise<number> {
    const { deleteSession, planDeletion } = await import('../../../workflow/landing/delete-session.ts');
    const deletion = await planDeletion(project, target);
    const { session, lines, archives, left } = deletion;
    const command = `teddy delete ${session} -y`;
    if (this.yes) requireWholeName(target, { session, refs: [...lines, ...archives].map(({ ref }) => ref), command });
    if (!this.json) describeDeletion(terminal, deletion);
    if (!this.yes && (await project.notices.confirm?.('Delete them?')) !== true)
      throw new TeddyError(
        'NOT_APPROVED',
        `No part of ${session} was deleted.`,
        `To delete without being asked: \`${command}\`.`,
      );
    const kept = await deleteSession(project, deletion);
    if (this.json) {
      const deleted = lines.map(({ ref, oid: tip, ...line }) => ({ line: shortRef(ref), tip, ...line }));
      const more = { archives: archives.map(({ ref }) => ref), left: left.map(shortRef), kept, restored: false };
      this.printJson(terminal, 'session-delete', { session, lines: deleted, ...more });
      return 0;
    }
    for (const { ref } of [...lines, ...archives]) terminal.print(`${toVisible(shortRef(ref))} is deleted\n`);
    terminal.say(`It can be restored for 30 days: teddy delete --restore ${session}`);
    return 0;
  }

  private async bringBack(terminal: Terminal, project: Project, session: string): Promise<number> {
    const { restoreDeleted } = await import('../../../workflow/landing/delete-session.ts');
    const refs = (await restoreDeleted(project, session)).map(({ ref }) => ref);
    if (this.json)
      this.printJson(terminal, 'session-delete', {
        session,
        lines: refs.map((ref) => ({ line: shortRef(ref) })),
        restored: true,
      });
    else for (const ref of refs) terminal.print(`${toVisible(shortRef(ref))} is back\n`);
    const main = refs.find((ref) => ref.startsWith('refs/heads/'));
    if (!this.json && main !== undefined) terminal.say(`To work on it: git switch ${shortRef(main)}`);
    return 0;
  }
}

function describeDeletion(terminal: Terminal, { session, lines, archives, left }: Deletion): void {
  terminal.say(`These will be deleted locally for ${session}:`);
  for (const { ref, turns, hasLanded, isPushed } of lines) {
    const facts = [
      `${turns} ${turns === 1 ? 'turn' : 'turns'}`,
      ...(turns === 0 ? [] : [hasLanded ? 'landed' : 'not landed']),
      isPushed ? 'also on a remote' : 'not pushed',
    ];
    terminal.say(toVisible(`  ${shortRef(ref)}  ${facts.join(', ')}`));
  }
  for (const { ref, turns, hasLanded } of archives) {
    const landed = turns === 0 ? '' : hasLanded ? ', landed' : ', not landed';
    terminal.say(toVisible(`  ${ref}  its archive, ${turns} ${turns === 1 ? 'turn' : 'turns'}${landed}`));
  }
  for (const ref of left)
    terminal.say(toVisible(`${shortRef(ref)} is your own branch with turns from this session, so it is kept.`));
}
