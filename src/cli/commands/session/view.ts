import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { PageLink } from '../../../http/page-routes.ts';
import { openBrowser, readBrowserEnvironment, requestLink, showPage } from '../../ask/open-page.ts';
import { describeFailure, openServer, untilAborted } from '../serve.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionViewCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: "Open a session's live page in a browser.",
    details: `
      The page shows the session turn by turn and updates live: answers as they arrive, actions as they run, entries
      that another process adds. From the page you can send a message, and run or refuse a plan, as with \`teddy
      plan\` and \`teddy execute\`. Without a session, it opens the one that HEAD is on, or else the newest open
      one; with \`--list\`, it opens the page of all sessions.

      Only this machine can reach the pages. If \`teddy serve\` runs in the repository, its address is used; otherwise
      this command serves them itself, until Ctrl-C. The link works once, within a minute; the browser that opens it
      has access until the server stops.

      The browser is the system's, or the command in BROWSER.
    `,
    examples: [
      ['Open the session that you are on', '$0 view'],
      ['Open another session', '$0 view add-login'],
      ['Only print the link', '$0 view --no-open'],
    ],
  });

  session = parameter('session', { optional: true, completes: ['sessions'] });
  list = option('--list', { describe: 'Open the list of all sessions.' });
  noOpen = option('--no-open', { describe: 'Print the link without opening a browser.' });

  protected run(terminal: Terminal): Promise<number> {
    if (this.list && this.session !== undefined)
      throw new TeddyError(
        'USAGE',
        '--list shows all sessions, so it cannot be combined with a session.',
        'Omit one of them.',
      );
    return this.withProjectAndSignal(terminal, 'teddy log', async (project, signal) => {
      // Makes sure that a session exists before starting a server.
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

  /**
   * Hides the link from agents, which could use it to approve plans on the page. Throws AGENT_MAY_NOT_APPROVE when an
   * agent asks only for the link.
   */
  private async isHidden(project: Project): Promise<boolean> {
    const { mayApprove } = await import('../../../workflow/line/needed-approval.ts');
    const trace = await project.callers.findAgent();
    if (trace === null || (await mayApprove(project, trace))) return false;
    if (!this.noOpen && !this.json) return true;
    throw new TeddyError(
      'AGENT_MAY_NOT_APPROVE',
      `The link opens a page where plans can be approved, so only a person may use it. ${trace.seen}`,
      "Omit --no-open and --json to open the page in the person's browser.",
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
          ? "The page is open in the person's browser. The link is not shown, because an agent started this command."
          : 'No browser could be started. A person can open the page from their own terminal: `teddy view`.',
      );
    else {
      if (isOpened === false) terminal.say('No browser could be started. Open the link yourself.');
      if (mayApprove === false)
        terminal.say('Plans cannot be approved with this link, because nothing shows that a person asked for it.');
      terminal.say('The link works once, within a minute; `teddy view` creates another one.');
    }
    if (isOwn)
      terminal.say('This command serves the pages until Ctrl-C, which also stops anything that was started on them.');
  }
}
