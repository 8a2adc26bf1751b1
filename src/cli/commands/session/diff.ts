import { TeddyError } from '../../../errors.ts';
import type { ComparedPart } from '../../../workflow/review/diff-turns.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionDiffCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Compare two turns: messages, plans, contexts, code.',
    details: `
      Name a turn (02, 02-branch-01); or a branch (even an archived one) or a commit to use its last turn. A single
      turn is compared with the one before it. Code is compared as each turn left it, without .teddy; contexts are
      compared by the files that the model was shown.

      Exit codes: 0 done, whether they differ or not; 1 the session is damaged; 2 no such turn, session or commit.
    `,
    examples: [
      ['How turn 03 differs from turn 02', '$0 diff 02 03'],
      ['A turn and another attempt at it', '$0 diff 02 02-branch-01'],
      ['A summary of how a turn differs from the one before it', '$0 diff 02 --stat'],
      ['Only the code of two branches', '$0 diff teddy/x teddy/x--02-branch-01 --only code'],
    ],
  });

  a = parameter('turn');
  b = parameter('other turn', { optional: true });
  session = sessionOption();
  only = option('--only', { value: '<part>', describe: 'Compare one part only: plan, context or code.' });
  stat = option('--stat', { describe: 'Show how much differs, without the changed lines.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { comparedParts, diffTurns } = await import('../../../workflow/review/diff-turns.ts');
      const only = toPart(comparedParts, this.only);
      const comparison = await diffTurns(project, { a: this.a, b: this.b, selector: this.session, only });
      if (this.json) {
        this.printJson(terminal, 'session-diff', comparison);
        return 0;
      }
      const { renderComparison } = await import('../../render/comparison.ts');
      await this.page(terminal, project, renderComparison(terminal, comparison, { isShort: this.stat }));
      return 0;
    });
  }
}

function toPart(parts: readonly ComparedPart[], text: string | undefined): ComparedPart | undefined {
  const part = parts.find((known) => known === text);
  if (part !== undefined || text === undefined) return part;
  throw new TeddyError('USAGE', `--only does not accept ${text}.`, `Use one of ${parts.join(', ')}.`);
}
