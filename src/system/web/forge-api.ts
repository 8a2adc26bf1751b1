/** The REST API of a forge: requests with a token, lists in pages, refusals with the next step, and checked answers. */
import { errorReason } from '../../disk/system-error.ts';
import { TeddyError } from '../../errors.ts';
import { field, parseJson } from '../../session/text/parse-object.ts';
import { request } from '../../web/request.ts';
import type { Response } from '../../web/response.ts';

export interface ForgeApiOptions {
  /** The forge's name in messages. */
  name: string;
  headers: Record<string, string>;
  signal: AbortSignal;
  /** The variables with the addresses, for hints. */
  variables: string;
  /** The next step when the token may not do this. */
  rights: string;
}

export interface ForgeApi {
  call(method: string, url: string, body?: object): Promise<unknown>;
  /** Requests all pages of a list. */
  listAll(url: string): Promise<unknown[]>;
  textAt(value: unknown, ...names: string[]): string;
  numberAt(value: unknown, name: string): number;
  strange(fault: string): TeddyError;
}

const perPage = 100;
/** A pull request with more comments has a problem of another kind. */
const maxPages = 100;

export function forgeApi({ name, headers, signal, variables, rights }: ForgeApiOptions): ForgeApi {
  async function send(method: string, url: string, body?: object): Promise<{ value: unknown; next?: string }> {
    let response: Response;
    try {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      response = await request(url, { method, headers: { 'user-agent': 'teddy', ...headers }, body: sent, signal });
    } catch (error) {
      if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted.', 'Run the command again.');
      const message = `${new URL(url).origin} cannot be reached: ${errorReason(error)}.`;
      throw new TeddyError('REMOTE_UNREACHABLE', message, `Check the network and ${variables}, then run it again.`);
    }
    const text = await response.text();
    if (!response.ok) throw toRefusal(`${method} ${new URL(url).pathname}`, response, text);
    const next = response.headers.get('x-next-page');
    return { value: parseJson(text), ...(next !== undefined && { next }) };
  }

  function toRefusal(what: string, { status, headers: answered }: Response, text: string): TeddyError {
    const said = (key: string) => new RegExp(`"${key}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)"`).exec(text)?.[1];
    const reason = said('message') ?? said('error_description') ?? said('error') ?? 'no reason given';
    const message = `${name} answered ${status} to ${what}: ${reason.slice(0, 300)}`;
    return new TeddyError('REMOTE_REFUSED', message, adviseOn(status, answered) ?? rights);
  }

  const strange = (fault: string) =>
    new TeddyError('REMOTE_REFUSED', `${name}'s answer ${fault}.`, `Check ${variables}.`);

  return {
    strange,
    call: async (...sent) => (await send(...sent)).value,
    async listAll(url) {
      const all: unknown[] = [];
      for (let page = 1; page <= maxPages; page += 1) {
        const address = `${url}${url.includes('?') ? '&' : '?'}per_page=${perPage}&page=${page}`;
        const { value: rows, next } = await send('GET', address);
        if (!Array.isArray(rows)) throw strange(`from ${address} is not a list`);
        all.push(...rows);
        // GitLab leaves rows out of a page that the token may not see, so only its header tells where the list ends.
        if (next === undefined ? rows.length < perPage : next === '') return all;
      }
      throw new TeddyError('REMOTE_REFUSED', `${url} has more than ${maxPages} pages.`);
    },
    textAt(value, ...names) {
      const found = names.reduce((from, one) => field(from, one), value);
      if (typeof found === 'string') return found;
      throw strange(`has no ${names.join('.')}`);
    },
    numberAt(value, one) {
      const found = field(value, one);
      if (typeof found === 'number' && Number.isSafeInteger(found)) return found;
      throw strange(`has no ${one}`);
    },
  };
}

/** Returns null when waiting does not help. */
function adviseOn(status: number, headers: Response['headers']): string | null {
  const limit = (name: string) => headers.get(`x-ratelimit-${name}`) ?? headers.get(`ratelimit-${name}`);
  const wait = headers.get('retry-after');
  const reset = limit('remaining') === '0' ? Number(limit('reset')) : NaN;
  if (wait !== undefined && /^\d+$/.test(wait)) return `Run the command again in ${wait} seconds.`;
  if (Number.isFinite(reset)) return `Run the command again after ${new Date(reset * 1000).toISOString()}.`;
  if (status === 429) return 'Run the command again in a few minutes.';
  return status >= 500 ? 'Run the command again later.' : null;
}
