/** Connects a command to the server that `--server URL` names. */
import { parseServerUrl, writeClient } from '../../../http/client.ts';
import type { WriteApi } from '../../../http/write-api.ts';
import { TeddyError } from '../../../errors.ts';
import type { ServerRecord } from '../../../ports/disk.ts';
import type { Project } from '../../../ports/project.ts';
import { writeLimits } from '../../../session/settings/write-limits.ts';

export interface ServerOptions {
  /** The URL as the user typed it. */
  server: string;
  /** Null outside any repository. */
  project: Project | null;
  env: Record<string, string | undefined>;
  say(text: string): void;
  signal?: AbortSignal;
}

/** Uses the token of the repository's own server, otherwise TEDDY_SERVER_TOKEN. Throws USAGE. */
export async function connectToServer({ server, project, env, say, signal }: ServerOptions): Promise<WriteApi> {
  const url = parseServerUrl(server);
  const token = toToken(url, (await project?.servers.read()) ?? null, env);
  return writeClient({ url, token, limits: writeLimits, onRetry: say, ...(signal ? { signal } : {}) });
}

function toToken(url: string, record: ServerRecord | null, env: Record<string, string | undefined>): string {
  // `localhost` is the same server, because the server listens only on 127.0.0.1.
  if (record !== null && record.url === url.replace('//localhost:', '//127.0.0.1:')) return record.token;
  const token = env['TEDDY_SERVER_TOKEN'] ?? '';
  // Tries a loopback server without a token: a running server reports the problem, and any other is unreachable.
  if (token !== '' || isLoopback(url)) return token;
  throw new TeddyError(
    'USAGE',
    `${url} is on another machine, and TEDDY_SERVER_TOKEN is not set.`,
    "Set it to the token from that server's server.json.",
  );
}

function isLoopback(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}
