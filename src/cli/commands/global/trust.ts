import { renderForeign } from '../../render/problems.ts';
import { option, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class GlobalTrustCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Shared by all sessions',
    description: 'Accept agents and context lists that came from elsewhere.',
    details: `
      Files that come from a remote, on \`teddy/global\` or in a session, decide what a model is told and shown, so
      teddy uses them only after you accept them. In a terminal, \`plan\` asks; this command prints everything that you
      have not accepted yet and accepts it, even without a terminal. If a text changes, it has to be accepted again.
      Memos are only facts, so teddy does not ask about them: see \`teddy memo list\`.
    `,
    examples: [
      ['Only look', '$0 global trust --dry-run'],
      ['Accept', '$0 global trust'],
    ],
  });

  session = sessionOption();
  dryRun = option('--dry-run', { describe: 'Print what would be accepted, without accepting it.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { trustGlobal } = await import('../../../workflow/context/trust-global.ts');
      const texts = await trustGlobal(project, { selector: this.session, keep: !this.dryRun });
      if (this.json) this.printJson(terminal, 'global-trust', { accepted: !this.dryRun, texts });
      else if (texts.length === 0) terminal.say('There is nothing to accept.');
      else {
        await this.page(terminal, project, renderForeign(terminal, texts, 'stdout'));
        terminal.say(
          this.dryRun ? 'Nothing has been accepted yet.' : `Accepted: ${texts.map(({ name }) => name).join(', ')}.`,
        );
      }
      return 0;
    });
  }
}
