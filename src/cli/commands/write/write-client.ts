/** `--server URL`: the same calls, asked of a server. */
import { parseServerUrl, writeClient } from '../../../http/client.ts';
import { TeddyError } from '../../../errors.ts';
import type { ServerRecord } from '../../../ports/disk.ts';
import type { Project } from '../../../ports/project.ts';
import { readWriteLimits } from '../../../workflow/writes/held.ts';
import { defaultLimits } from '../../../session/write-limits.ts';
import type { WriteCalls } from './write-calls.ts';

export interface ServerWish {
  /** As it was typed. */
  server: string;
  /** Null: the command was not run in a repository. */
  project: Project | null;
  env: Record<string, string | undefined>;
  say(text: string): void;
  signal?: AbortSignal;
}

/**
 * With the token of the repository's own server, else that of TEDDY_SERVER_TOKEN. Throws USAGE. Content that is not valid is
 * thrown by `finalize`, as a RejectedContent.
 */
export async function serverCalls({ server, project, env, say, signal }: ServerWish): Promise<WriteCalls> {
  const url = parseServerUrl(server);
  const token = toToken(url, (await project?.servers.read()) ?? null, env);
  const limits = project === null ? defaultLimits : await readWriteLimits(project);
  const client = writeClient({ url, token, limits, onRetry: say, ...(signal ? { signal } : {}) });
  return {
    begin: ({ intent, target, operation, session, ownMarker }) =>
      client.begin({ intent, target, operation, session, ownMarker }),
    append: async (request) => {
      const { offset, added } = await client.append(request);
      return { size: offset, added };
    },
    finalize: (request) => client.finalize(request),
    status: (id) => client.find(id),
    list: async () => (await client.list()).sessions,
    cancel: (id) => client.cancel(id),
  };
}

function toToken(url: string, record: ServerRecord | null, env: Record<string, string | undefined>): string {
  // `localhost` is the same server: it listens on 127.0.0.1 alone.
  if (record !== null && record.url === url.replace('//localhost:', '//127.0.0.1:')) return record.token;
  const token = env['TEDDY_SERVER_TOKEN'] ?? '';
  // On this machine it is tried without: a server that is there says what is wrong, and one that is not is unreachable.
  if (token !== '' || isLoopback(url)) return token;
  throw new TeddyError(
    'USAGE',
    `${url} is on another machine, and TEDDY_SERVER_TOKEN is not set.`,
    'Set it to the token of its server.json.',
  );
}

function isLoopback(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}
