import { once } from 'node:events';
import { version } from '../../../package.json';
import { TeddyError } from '../../errors.ts';
import type { RequestReport } from '../../http/api.ts';
import type { RunningServer } from '../../http/start-server.ts';
import type { Notices, Project } from '../../ports/project.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { openBrowser, readBrowserEnvironment } from '../ask/open-page.ts';
import { chooseFromFlags } from '../ask/choose-model.ts';
import { openHere, option, TeddyCommand, type Terminal, usage, withInterrupt } from '../teddy-command.ts';

export class ServeCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Serve sessions to browsers and other programs on this machine, over HTTP.',
    details: `
      Listens only on 127.0.0.1, on port 5000 or the next free one, until Ctrl-C or SIGTERM; calls in progress are
      then finished. GET /openapi.json describes the calls. Each needs the token in \`.git/teddy/server.json\`, which
      only you can read: Authorization: Bearer <token>.

      To look at sessions in a browser, run \`teddy view\`; it opens the pages with a link that works once.
      A session's page updates live; from there you can send a message, and run or refuse a plan.

      A voice front end or an editor adds messages with POST /api/sessions/<session>/entries, follows a session with
      GET /api/sessions/<session>/events, and reads it with GET /api/sessions/<session>/history; GET /api/sessions
      lists the sessions. Large files are written with /api/write-session/begin, append and finalize.

      A repository has one server; a second one is refused, with the address of the first. Each request and each
      notice is logged as one line of JSON on stderr, without content.
    `,
    examples: [
      ['Until Ctrl-C', '$0 serve'],
      ['On any free port, for a script', '$0 serve --port 0 --json'],
    ],
  });

  port = option('--port', { value: '<n>', describe: 'Use exactly this port; 0 picks any free port.' });

  protected run(terminal: Terminal): Promise<number> {
    const port = this.port === undefined ? null : parsePort(this.port);
    return this.withProject(
      terminal,
      (project) => withInterrupt(terminal, 'teddy write list', (signal) => this.serve(terminal, project, port, signal)),
      logNotices(terminal),
    );
  }

  private async serve(terminal: Terminal, project: Project, port: number | null, signal: AbortSignal): Promise<number> {
    await this.offerOrphans(terminal, project, signal);
    const server = await openServer(terminal, project, { port, report: toReport(terminal) });
    if (this.json) this.printJson(terminal, 'serve', { url: server.url, port: server.port, pid: process.pid });
    else terminal.print(`${server.url}\n`);
    // Prints this as one line, because the JSON log follows.
    const token = `The token is in ${toVisible(project.servers.path)}.`;
    terminal.say(`${token} \`teddy view\` opens the pages in a browser. Ctrl-C stops the server.`);
    await untilAborted(signal);
    await server.stop();
    return 0;
  }
}

/** Starts the server. Throws SERVER_RUNNING, and USAGE when the port is not available. */
export async function openServer(
  terminal: Terminal,
  project: Project,
  { port, report }: { port: number | null; report: RequestReport },
): Promise<RunningServer> {
  const [{ startServer }, { serverWrites }, { sessionApi }, { readWriteLimits }, { describeCleaned }, pages] =
    await Promise.all([
      import('../../http/start-server.ts'),
      import('../../http/write-api.ts'),
      import('../../http/session-api.ts'),
      import('../../workflow/writes/held.ts'),
      import('../render/write.ts'),
      import('../../workflow/page/read-page.ts'),
    ]);
  const { servers, clock } = project;
  return startServer({
    writes: serverWrites(project, (cleaned) => project.notices.info(describeCleaned(cleaned))),
    sessions: sessionApi(project),
    pages: {
      project,
      open: (notices) => openHere(terminal, notices, undefined),
      choose: (opened) => chooseFromFlags(opened, terminal.context, { inEditor: false }),
      find: pages.findPageSource,
      openBrowser: async (link) => openBrowser({ env: await readBrowserEnvironment(project, terminal.context) }, link),
      read: (opened, source) => pages.readPage(opened, source, { version, checks: false }),
    },
    limits: await readWriteLimits(project),
    servers,
    clock,
    report,
    version,
    port,
    pid: process.pid,
  });
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new TeddyError('USAGE', `--port=${text} is not a port.`, 'Use a number from 0 to 65535.');
}

/** Writes notices as lines of JSON, as it does for requests, so that the whole log has one format. */
function logNotices(terminal: Terminal): Notices {
  return { info: (text) => log(terminal, 'info', text), warn: (text) => log(terminal, 'warning', text) };
}

function log(terminal: Terminal, level: 'info' | 'warning' | 'error', message: string): void {
  terminal.say(JSON.stringify({ time: new Date().toISOString(), level, message: toVisible(message) }));
}

function toReport(terminal: Terminal): RequestReport {
  return {
    request: (line) => terminal.say(JSON.stringify(line)),
    failure: (error) => log(terminal, 'error', describeFailure(error)),
  };
}

/** Describes a failure. An expected error suggests what to do; any other error is a defect, so its stack shows the place. */
export function describeFailure(error: unknown): string {
  if (error instanceof TeddyError) return [error.message, error.hint ?? ''].join(' ').trim();
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
