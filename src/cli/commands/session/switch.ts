import { Command, Option } from 'clipanion';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { shortRef } from '../../../names.ts';
import { AmbiguousSessionError, findNamedTip } from '../../../workflow/line/find.ts';
import { listNewest, sortNewest } from '../../../workflow/review/list-sessions.ts';
import { sayBack } from '../../render/branched.ts';
import { renderSessions, takeFirst } from '../../render/sessions.ts';
import { sessionOption, TeddyCommand, withInterrupt } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';
import { toTarget } from './target-option.ts';

export class SessionSwitchCommand extends TeddyCommand {
  static override paths = [['session', 'switch']];
  static override usage = Command.Usage({
    category: 'Go on',
    description: 'Switch this work tree to the branch of a session.',
    details: `
      It switches as \`git switch\` does: your edits come along, and where they would be lost, it refuses. A session that only a
      remote has gets a branch here first. Without a name, on a terminal, you choose from the newest sessions.

      Exit codes: 0 done; 1 the repository is bare; 2 no such session, or none was named; 3 files are in the way, it is checked out in
      another work tree, or a run or an operation of git is not finished; 4 nothing was chosen.
    `,
    examples: [
      ['Go to a session', '$0 session switch add-user-auth'],
      ['Choose one', '$0 session switch'],
    ],
  });

  target = Option.String({ name: 'session', required: false });
  session = sessionOption();

  protected run(terminal: Terminal): Promise<number> {
    const named = toTarget(this.target, this.session);
    const canAsk = terminal.isInteractive && !this.json;
    if (named === undefined && !canAsk)
      throw new TeddyError(
        'USAGE',
        'No session was named, and nobody can be asked for one.',
        '`teddy session list` shows them: `teddy session switch <session>`.',
      );
    return this.withProject(terminal, async (project) => {
      const { switchSession } = await import('../../../workflow/line/switch.ts');
      const chosen = named ?? (await pickSession(terminal, project));
      const { session, ref, from, isThere } = await switchSession(project, chosen);
      const branch = shortRef(ref);
      const before = from.ref === null ? from.oid : shortRef(from.ref);
      if (this.json) {
        this.printJson(terminal, 'session-switch', { session, branch, from: before, switched: !isThere });
        return 0;
      }
      const name = terminal.style('bold', toVisible(branch), 'stderr');
      terminal.say(isThere ? `You are on ${name} already.` : `Switched to ${name}.`);
      if (!isThere) sayBack(terminal, from);
      return 0;
    });
  }
}

/** More would not be on one page. */
const offered = 15;

/** Throws NOT_APPROVED for no answer; INTERRUPTED on Ctrl-C. */
async function pickSession(terminal: Terminal, project: Project): Promise<string> {
  const { askAgainHint, askOrStop } = await import('../../ask/finish-write.ts');
  const now = project.clock.now();
  const sessions = takeFirst(sortNewest((await listNewest(project, offered)).sessions, now), offered);
  if (sessions.length === 0)
    throw new TeddyError('UNKNOWN_SESSION', 'There is no session yet.', 'Start one: `teddy session new <name>`.');
  const rows = renderSessions({ ...terminal, columns: terminal.columns - 4 }, sessions, now.getTime()).trimEnd();
  terminal.say(
    rows
      .split('\n')
      .map((row, at) => `${String(at + 1).padStart(2)}  ${row}`)
      .join('\n'),
  );
  return withInterrupt(terminal, 'teddy status', async (signal) => {
    for (;;) {
      const answer = await askOrStop(terminal, signal, 'Which one? Number or name, q: none ', askAgainHint);
      if (answer === null || answer === '' || answer === 'q')
        throw new TeddyError('NOT_APPROVED', 'Nothing was switched.', '`teddy session list` shows all sessions.');
      if (!/^\d{1,2}$/.test(answer)) {
        const found: unknown = await findNamedTip(project, answer).catch((error: unknown) => error);
        if (!(found instanceof AmbiguousSessionError)) return answer;
        terminal.say(`${toVisible(found.message)} Answer the whole name of one, or its number.`);
        continue;
      }
      const chosen = sessions[Number(answer) - 1];
      if (chosen !== undefined) return chosen.session;
      terminal.say(`Answer a number from 1 to ${sessions.length}, or a name.`);
    }
  });
}
