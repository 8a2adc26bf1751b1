/** Opens the page of a session in the browser of the person. */
import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import { TeddyError } from '../../errors.ts';
import type { ServerRecord } from '../../ports/disk.ts';
import type { CliContext } from '../context.ts';

export interface PageLink {
  link: string;
  expires_at: string;
}

/** Throws SERVER_UNREACHABLE, and what the server refuses. */
export async function requestLink(
  { url, token }: Pick<ServerRecord, 'url' | 'token'>,
  session: string | undefined,
): Promise<PageLink> {
  const response = await fetch(`${url}/api/page-links`, {
    method: 'POST',
    redirect: 'error',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ session }),
  }).catch((error: unknown) => {
    throw new TeddyError(
      'SERVER_UNREACHABLE',
      `The server of this repository does not answer at ${url}.`,
      'Stop `teddy serve`, and run this again.',
      { cause: error },
    );
  });
  if (response.ok) return (await response.json()) as PageLink;
  throw new TeddyError(
    'SERVER_UNREACHABLE',
    `The server at ${url} makes no link to its pages; it answers with status ${response.status}.`,
    'It may be of another version: stop `teddy serve`, and run this again.',
  );
}

/** False when it could not be started, or has nowhere to show itself. */
export async function openBrowser({ env }: Pick<CliContext, 'env'>, link: string): Promise<boolean> {
  const own = (env['BROWSER'] ?? '').split(':').filter(Boolean);
  const hasScreen = platform() !== 'linux' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
  const usual = { darwin: ['open'], win32: ['cmd /c start ""'] }[platform() as string] ?? ['xdg-open'];
  for (const command of own.length > 0 ? own : hasScreen ? usual : []) if (await start(command, link)) return true;
  return false;
}

/** A program that ends so soon with a failure has shown nothing. */
const failsWithinMs = 500;

/** `%s` in the command stands for the link, as other programs read BROWSER; without one it comes last. */
function start(command: string, link: string): Promise<boolean> {
  const words = command.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
  const [program = '', ...given] = words.some((word) => word.includes('%s'))
    ? words.map((word) => word.replaceAll('%s', link))
    : [...words, link];
  const child = spawn(program, given, { stdio: 'ignore', detached: true });
  return new Promise((resolve) => {
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
    child.on('spawn', () => {
      child.unref();
      setTimeout(() => resolve(true), failsWithinMs);
    });
  });
}
