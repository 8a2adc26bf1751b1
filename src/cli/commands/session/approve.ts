import { composeText } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import { shortRef } from '../../../names.ts';
import type { PlanComment } from '../../../plan/plan-comments.ts';
import type { Project } from '../../../ports/project.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { GivenVerdict } from '../../../workflow/run/give-verdict.ts';
import { toSurroundings } from '../../context.ts';
import { toExecuteCommand, toLineOption } from '../../render/name-line.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

/** The last line of the file in the editor. */
const editorHelp =
  '>> To comment on a line in the plan, add a line that begins with >> below it. This line is ignored.';

abstract class VerdictCommand extends TeddyCommand {
  turn = parameter('turn', { optional: true });
  session = sessionOption();
  message = option('-m,--message', { value: '<text>', describe: 'Your remark on the plan.' });
  comments = option('--comment', {
    value: '<line:text>',
    many: true,
    describe: 'Comment on one line of plan.md: 12:"..."; can be repeated.',
  });
  edit = option('-e,--edit', {
    describe: 'Open the plan in your editor; a line that begins with >> comments on the line above it.',
  });
  sha256 = option('--sha256', {
    value: '<hex>',
    describe: "Refuse if the plan's sha256 does not begin with this.",
  });

  protected abstract readonly verdict: 'approved' | 'rejected';

  protected run(terminal: Terminal): Promise<number> {
    const comments = this.comments.map(parseComment);
    const sha256 = this.toSha256();
    return this.withProject(terminal, async (project) => {
      const [{ giveVerdict }, { hasRemote }] = await Promise.all([
        import('../../../workflow/run/give-verdict.ts'),
        import('../../../workflow/line/needed-approval.ts'),
      ]);
      const edited = this.edit ? await this.editComments(terminal, project, sha256) : null;
      const given = await giveVerdict(project, {
        selector: edited?.selector ?? this.session,
        turn: edited?.turn ?? this.turn,
        verdict: this.verdict,
        text: this.message,
        comments: [...comments, ...(edited?.comments ?? [])],
        sha256: edited?.sha256 ?? sha256,
      });
      if (this.json) this.printJson(terminal, `session-${commandOf(this.verdict)}`, toVerdictJson(given));
      else await showGiven(terminal, project, given, await hasRemote(project));
      return 0;
    });
  }

  /** Ties the verdict to the plan that the user read in the editor, even if another plan has arrived since. */
  private async editComments(terminal: Terminal, project: Project, sha256: string | undefined) {
    const [{ findPlan }, { readPlanComments }] = await Promise.all([
      import('../../../workflow/run/give-verdict.ts'),
      import('../../../plan/plan-comments.ts'),
    ]);
    const {
      line,
      turn,
      text,
      sha256: whole,
    } = await findPlan(project, {
      selector: this.session,
      turn: this.turn,
      verdict: this.verdict,
      sha256,
    });
    const shown = `${text.replace(/\n$/, '')}\n${editorHelp}\n`;
    const edited = await composeText(project, toSurroundings(terminal.context), shown, 'plan.md');
    const kept = edited.split('\n').filter((row) => row.trimEnd() !== editorHelp);
    return { selector: shortRef(line.ref), turn, comments: readPlanComments(text, kept.join('\n')), sha256: whole };
  }

  private toSha256(): string | undefined {
    if (this.sha256 === undefined || /^[0-9a-f]{8,64}$/i.test(this.sha256)) return this.sha256;
    throw new TeddyError(
      'USAGE',
      `${JSON.stringify(this.sha256.slice(0, 80))} is not a sha256, or is too short.`,
      'Use at least its first 8 hexadecimal digits, or all 64.',
    );
  }
}

export class SessionApproveCommand extends VerdictCommand {
  static override usage = usage({
    category: 'Go on',
    description: "Approve a turn's plan, as an entry in the session.",
    details: `
      Approves the plan of the latest turn, or of the one that you name, even after it was run. The entry has your name
      and the plan's sha256, so the approval applies to exactly these bytes. It travels with the session: push the
      session, and every clone that pulls it has your approval.

      With \`git config teddy.approvals 1\`, \`teddy execute\` refuses a plan that nobody has approved, unless
      you are asked about each of its actions; \`others\` requires the approval of somebody who did not write the
      message. Names are easily forged, so \`others\` also requires signatures where teddy.sign is set. \`teddy
      verify --require-approval\` applies the same rule in CI.

      An AI agent that calls this command is refused; teddy recognizes it by the variables that agents set for their
      tools, or by its program among the parent processes. It may still reject a plan.

      Exit codes: 0 approved; 2 no such turn, or a comment on a line that the plan does not have; 3 there is no plan,
      it is not the one that --sha256 names, or an agent started this command.
    `,
    examples: [
      ['The pending plan', '$0 approve'],
      ['An earlier plan, with a remark', '$0 approve 02 -m "Fine, as agreed."'],
      ['With a remark on line 12', '$0 approve --comment 12:"Nice."'],
    ],
  });

  protected readonly verdict = 'approved';
}

export class SessionRejectCommand extends VerdictCommand {
  static override usage = usage({
    category: 'Go on',
    description: "Reject a turn's plan with a reason, as an entry in the session.",
    details: `
      The plan does not run, and its turn is closed. The model reads your reason together with your next message; an
      agent that is waiting at the gate gets it as the answer to its plan. You do not have to be on the session's
      branch.

      Exit codes: 0 rejected; 2 you gave no reason, no such turn, or a comment on a line that the plan does not have;
      3 there is no pending plan, or it is not the one that --sha256 names.
    `,
    examples: [
      ['The pending plan', '$0 reject -m "Keep the old flag."'],
      ['With comments on individual lines', '$0 reject --comment 12:"Not in src/." --comment 20:"Why?"'],
      ['In your editor', '$0 reject --edit'],
    ],
  });

  protected readonly verdict = 'rejected';
}

function commandOf(verdict: 'approved' | 'rejected'): string {
  return verdict === 'approved' ? 'approve' : 'reject';
}

/** Reads a comment such as `12:Not in src/.` Throws USAGE. */
function parseComment(text: string): PlanComment {
  const [, line, said] = /^(\d{1,9}):(.*)$/s.exec(text) ?? [];
  if (line !== undefined && said !== undefined) return { line: Number(line), text: said };
  throw new TeddyError(
    'USAGE',
    `--comment ${JSON.stringify(text.slice(0, 80))} does not name a line in the plan.`,
    'Put the line number first: --comment 12:"Not in src/."',
  );
}

function toVerdictJson({ line, report, ...given }: GivenVerdict) {
  return { session: line.session, line: shortRef(line.ref), ...given, closed: report !== null };
}

async function showGiven(terminal: Terminal, project: Project, given: GivenVerdict, hasRemote: boolean): Promise<void> {
  const { line, verdict, plan, report, isNew } = given;
  const word = verdict.verdict === 'approved' ? terminal.style('green', 'approved') : terminal.style('red', 'rejected');
  const title = plan.title === '' ? '.' : `: ${plan.title}`;
  const where = `Turn ${verdict.turn} of ${shortRef(line.ref)}:`;
  terminal.say(
    `${where} you ${isNew ? '' : 'have already '}${word} the plan (sha256 ${verdict.planSha256.slice(0, 12)})${toVisible(title)}`,
  );
  if (report !== null)
    terminal.say('The turn is closed, and the model sees your verdict together with your next message.');
  const option = toLineOption(project, line);
  if (verdict.verdict === 'approved' && !given.isEnough) {
    terminal.say("teddy.approvals also requires another person's approval: push the session, and pull theirs.");
    terminal.say(`Next: ${hasRemote ? `teddy push${option}` : 'git remote add origin <url>'}`);
  } else if (plan.isForeign)
    terminal.say(
      verdict.verdict === 'approved'
        ? 'If the agent is still waiting, it continues now.'
        : 'If the agent is still waiting, it reads what you said and plans again.',
    );
  else if (report !== null) terminal.say(`Next: teddy plan${option} -m "..."`);
  else if (line.state.latest?.turn === verdict.turn && line.state.latest.status === 'planned') {
    const execute = await toExecuteCommand(project, line);
    if (hasRemote && given.isForOthers) {
      terminal.say(`Next: teddy push${option}`);
      terminal.say(`To run the plan yourself: ${execute}`);
      return;
    }
    if (hasRemote) terminal.say(`To share your verdict: teddy push${option}`);
    terminal.say(`Next: ${execute}`);
  }
}
