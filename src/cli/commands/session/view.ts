import { Command, Option } from 'clipanion';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { openBrowser, requestLink, type PageLink } from '../../ask/open-page.ts';
import { describeFailure, openServer, untilAborted } from '../serve.ts';
import { TeddyCommand, withInterrupt } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';

export class SessionViewCommand extends TeddyCommand {
  static override paths = [['session', 'view']];
  static override usage = Command.Usage({
    category: 'Look back',
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

  session = Option.String({ required: false, name: 'session' });
  list = Option.Boolean('--list', false, { description: 'Open the list of all sessions.' });
  noOpen = Option.Boolean('--no-open', false, { description: 'Print the link, and open no browser.' });

  protected run(terminal: Terminal): Promise<number> {
    if (this.list && this.session !== undefined)
      throw new TeddyError('USAGE', '--list shows all sessions, and one was named.', 'Leave out one of them.');
    return withInterrupt(terminal, 'teddy session log', (signal) =>
      this.withProject(terminal, async (project) => {
        // Without a session there is nothing to look at, and no server is started.
        const selector = this.list ? undefined : await this.find(project);
        const running = await project.servers.read();
        if (running !== null) {
          await this.open(terminal, await requestLink(running, selector), { isOwn: false });
          return 0;
        }
        const report = { request: () => undefined, failure: (error: unknown) => terminal.say(describeFailure(error)) };
        const server = await openServer(terminal, project, { port: null, report });
        try {
          await this.open(terminal, await requestLink(server, selector), { isOwn: true });
          await untilAborted(signal);
        } finally {
          await server.stop();
        }
        return 0;
      }),
    );
  }

  private async find(project: Project): Promise<string> {
    const { findPageSource } = await import('../../../workflow/page/read-page.ts');
    return (await findPageSource(project, this.session)).line;
  }

  private async open(
    terminal: Terminal,
    { link, expires_at: expiresAt }: PageLink,
    { isOwn }: { isOwn: boolean },
  ): Promise<void> {
    if (this.json) this.printJson(terminal, 'view', { link, expires_at: expiresAt, is_own_server: isOwn });
    else terminal.print(`${link}\n`);
    const isOpened = this.noOpen || this.json ? null : await openBrowser(terminal.context, link);
    if (isOpened === false) terminal.say('No browser could be started. Open the link yourself.');
    terminal.say('The link works once, within a minute; `teddy session view` makes another one.');
    if (isOwn) terminal.say('The pages are served from here until Ctrl-C, which also stops what was begun on them.');
  }
}
