import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { PageLink } from '../../../http/page-routes.ts';
import { openBrowser, readBrowserEnvironment, requestLink, showPage } from '../../ask/open-page.ts';
import { describeFailure, openServer, untilAborted } from '../serve.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionViewCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Open the page of a session in a browser, live.',
    details: `
      The page shows the session turn by turn, and what happens while it happens: an answer that arrives, actions
      that run, entries that another process adds. A message can be sent from there, and a plan run or refused, as
      \`session plan\` and \`session execute\` do it. Without a session, it is the one that HEAD is on, or the newest that
      is open; with \`--list\`, the page of all sessions.

      The pages are served to this machine alone. If \`teddy serve\` runs in the repository, its address is used;
      otherwise this command serves them itself, until Ctrl-C. The link works once, within a minute: the browser
      that opens it is let in until the server stops.

      The browser is that of the system, or the command in BROWSER.
    `,
    examples: [
      ['Open the session that you are on', '$0 session view'],
      ['Open another one', '$0 session view add-login'],
      ['Only print the link', '$0 session view --no-open'],
    ],
  });

  session = parameter('session', { optional: true, completes: ['sessions'] });
  list = option('--list', { describe: 'Open the list of all sessions.' });
  noOpen = option('--no-open', { describe: 'Print the link, and open no browser.' });

  protected run(terminal: Terminal): Promise<number> {
    if (this.list && this.session !== undefined)
      throw new TeddyError('USAGE', '--list shows all sessions, and one was named.', 'Leave out one of them.');
    return this.withProjectAndSignal(terminal, 'teddy session log', async (project, signal) => {
      // Without a session there is nothing to look at, and no server is started.
      const selector = this.list ? undefined : await this.find(project);
      const env = await readBrowserEnvironment(project, terminal.context);
      const isHidden = await this.isHidden(project);
      const running = await project.servers.read();
      if (running !== null) {
        const link = await requestLink(running, selector);
        const show = () => showPage(running, link, { env, session: selector });
        await this.open(terminal, link, { isOwn: false, isHidden, show });
        return 0;
      }
      const report = { request: () => undefined, failure: (error: unknown) => terminal.say(describeFailure(error)) };
      const server = await openServer(terminal, project, { port: null, report });
      try {
        const link = await server.issueLink(selector, true);
        const show = () => openBrowser({ env }, link.link);
        await this.open(terminal, link, { isOwn: true, isHidden, show });
        await untilAborted(signal);
      } finally {
        await server.stop();
      }
      return 0;
    });
  }

  private async find(project: Project): Promise<string> {
    const { findPageSource } = await import('../../../workflow/page/read-page.ts');
    return (await findPageSource(project, this.session)).line;
  }

  /** An agent that had the link could approve plans on the page. Throws AGENT_MAY_NOT_APPROVE where it wants nothing else. */
  private async isHidden(project: Project): Promise<boolean> {
    const { mayApprove } = await import('../../../workflow/line/needed-approval.ts');
    const trace = await project.callers.findAgent();
    if (trace === null || (await mayApprove(project, trace))) return false;
    if (!this.noOpen && !this.json) return true;
    throw new TeddyError(
      'AGENT_MAY_NOT_APPROVE',
      `The link opens a page on which plans can be approved, and is for the browser of a person. ${trace.seen}`,
      'Leave out --no-open and --json, and the page opens there.',
    );
  }

  private async open(
    terminal: Terminal,
    { link, expiresAt, mayApprove }: PageLink,
    { isOwn, isHidden, show }: { isOwn: boolean; isHidden: boolean; show: () => Promise<boolean> },
  ): Promise<void> {
    if (this.json) this.printJson(terminal, 'view', { link, expiresAt, isOwnServer: isOwn });
    else if (!isHidden) terminal.print(`${link}\n`);
    const isOpened = this.noOpen || this.json ? null : await show();
    if (isHidden)
      terminal.say(
        isOpened === true
          ? 'The page is open in the browser of the person. The link is not shown, since an agent has started this.'
          : 'No browser could be started. A person opens the page in a terminal of their own: `teddy session view`.',
      );
    else {
      if (isOpened === false) terminal.say('No browser could be started. Open the link yourself.');
      if (mayApprove === false)
        terminal.say('With this link no plan can be approved, since nothing shows that a person has asked for it.');
      terminal.say('The link works once, within a minute; `teddy session view` makes another one.');
    }
    if (isOwn) terminal.say('The pages are served from here until Ctrl-C, which also stops what was begun on them.');
  }
}
