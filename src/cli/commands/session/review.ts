import { toTarget } from './target-option.ts';
import { parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionReviewCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Print a session as Markdown, for use as the body of a pull request.',
    details: `
      Names the models that answered, who approved and rejected plans, and who worked on the branch. A table of the
      turns follows, with each turn's message, the plan's actions and their outcome, who approved them, models,
      tokens, cost and changed files; then the totals, and how to look closer, verify and replay. Texts from models
      and users are quoted so that they mention nobody, close no issue and add no structure; secrets in them are
      masked.

      The text stays below the 65,536 characters that GitHub allows: if necessary, it omits the details of older turns
      and says so. With --json it has all turns.

      Exit codes: 0 done; 1 the session is damaged, or it cannot be searched for secrets; 2 no such session or commit.
    `,
    examples: [
      ['The session that HEAD is on', '$0 review'],
      ['Open a pull request with the GitHub CLI', '$0 review | gh pr create --title "..." --body-file -'],
      ['For a program', '$0 review add-user-auth --json'],
    ],
  });

  target = parameter('session, commit or range', { optional: true, completes: ['sessions'] });
  session = sessionOption();

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const target = toTarget(this.target, this.session);
    return this.withProject(terminal, async (project) => {
      const { openReview, reviewSession } = await import('../../../workflow/review/session.ts');
      if (this.json) {
        this.printJson(terminal, 'session-review', await reviewSession(project, target));
        return 0;
      }
      const { renderReview } = await import('../../render/review.ts');
      await this.page(terminal, project, await renderReview(await openReview(project, target)));
      return 0;
    });
  }
}
