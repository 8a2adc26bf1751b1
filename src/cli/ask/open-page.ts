/** Opens a session's page in the user's browser. */
import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import { TeddyError } from '../../errors.ts';
import type { ServerRecord } from '../../ports/disk.ts';
import type { PageLink } from '../../http/page-routes.ts';
import type { Project } from '../../ports/project.ts';
import { request } from '../../web/request.ts';
import type { CliContext } from '../context.ts';

type Server = Pick<ServerRecord, 'url' | 'token'>;

/** Throws SERVER_UNREACHABLE, or the server's own error when it refuses. */
export async function requestLink(server: Server, session: string | undefined): Promise<PageLink> {
  return (await call(server, 'page-links', session)) as PageLink;
}

/**
 * Shows a page from a server that another process runs. If the link must not approve plans, that server opens the
 * browser itself, with a link that nobody else has. Returns false when no browser could be started.
 */
export async function showPage(
  server: Server,
  { link, mayApprove }: PageLink,
  { env, session }: { env: CliContext['env']; session: string | undefined },
): Promise<boolean> {
  // An earlier version's server does not report this.
  if (mayApprove !== false) return openBrowser({ env }, link);
  return ((await call(server, 'page-openings', session)) as { opened: boolean }).opened;
}

async function call({ url, token }: Server, path: string, session: string | undefined): Promise<unknown> {
  const response = await request(`${url}/api/${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ session }),
  }).catch((error: unknown) => {
    throw new TeddyError(
      'SERVER_UNREACHABLE',
      `This repository's server does not answer at ${url}.`,
      'Stop `teddy serve`, and run this command again.',
      { cause: error },
    );
  });
  if (response.ok) return JSON.parse(await response.text());
  throw new TeddyError(
    'SERVER_UNREACHABLE',
    `The server at ${url} refuses to create a link to its pages; it answers with status ${response.status}.`,
    'It may be another version: stop `teddy serve`, and run this command again.',
  );
}

/** Reads the variables that start the user's browser, because an agent that runs this command may have set others. */
export async function readBrowserEnvironment({ callers }: Project, { env }: CliContext): Promise<CliContext['env']> {
  return (await callers.userEnvironment()) ?? env;
}

/** Returns false when the browser could not be started, or has no display. */
export async function openBrowser({ env }: Pick<CliContext, 'env'>, link: string): Promise<boolean> {
  const own = (env['BROWSER'] ?? '').split(':').filter(Boolean);
  const hasScreen = platform() !== 'linux' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
  const usual = { darwin: ['open'], win32: ['cmd /c start ""'] }[platform() as string] ?? ['xdg-open'];
  for (const command of own.length > 0 ? own : hasScreen ? usual : []) if (await start(command, link, env)) return true;
  return false;
}

/** A program that fails within this time has shown no page. */
const failsWithinMs = 500;

/**
 * `%s` in the command stands for the link, as for other programs that read BROWSER; without it, the link is the last
 * argument.
 */
function start(command: string, link: string, env: CliContext['env']): Promise<boolean> {
  const words = command.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
  const [program = '', ...given] = words.some((word) => word.includes('%s'))
    ? words.map((word) => word.replaceAll('%s', link))
    : [...words, link];
  const child = spawn(program, given, { stdio: 'ignore', detached: true, env });
  return new Promise((resolve) => {
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
    child.on('spawn', () => {
      child.unref();
      setTimeout(() => resolve(true), failsWithinMs);
    });
  });
}
