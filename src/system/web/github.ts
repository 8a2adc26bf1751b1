/** A repository on GitHub, over its REST API. Only `ownName` needs GraphQL, because a job's token has no user in REST. */
import { TeddyError } from '../../errors.ts';
import { isOid } from '../../names.ts';
import type { Forge, ForgeComment, PullRequest } from '../../ports/web.ts';
import { request } from '../../web/request.ts';
import type { Response } from '../../web/response.ts';
import { errorReason } from '../../disk/system-error.ts';
import { field, parseJson } from '../../session/text/parse-object.ts';

export interface GithubOptions {
  /** The address of the REST API, and that of GraphQL. */
  api: string;
  graphql: string;
  /** `owner/name`. */
  repository: string;
  token: string;
  signal: AbortSignal;
}

const perPage = 100;
/** A pull request with more comments has a problem of another kind. */
const maxPages = 100;

export function githubForge({ api, graphql, repository, token, signal }: GithubOptions): Forge {
  const headers = {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'user-agent': 'teddy',
    'x-github-api-version': '2022-11-28',
  };

  async function call(method: string, url: string, body?: object): Promise<unknown> {
    let response: Response;
    try {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      response = await request(url, { method, headers, body: sent, signal });
    } catch (error) {
      if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted.', 'Run the command again.');
      const message = `${new URL(url).origin} cannot be reached: ${errorReason(error)}.`;
      throw new TeddyError('REMOTE_UNREACHABLE', message, 'Check the network and GITHUB_API_URL, then run it again.');
    }
    const text = await response.text();
    if (!response.ok) throw toRefusal(`${method} ${new URL(url).pathname}`, response, text);
    return parseJson(text);
  }

  const at = (path: string) => `${api}/repos/${repository}/${path}`;

  async function listAll(path: string): Promise<unknown[]> {
    const all: unknown[] = [];
    for (let page = 1; page <= maxPages; page += 1) {
      const url = `${at(path)}${path.includes('?') ? '&' : '?'}per_page=${perPage}&page=${page}`;
      const rows = await call('GET', url);
      if (!Array.isArray(rows)) throw strangeAnswer(`from ${url} is not a list`);
      all.push(...rows);
      if (rows.length < perPage) return all;
    }
    throw new TeddyError('REMOTE_REFUSED', `${at(path)} has more than ${maxPages} pages.`);
  }

  return {
    async listPullRequests(from) {
      const filter = from === undefined ? '' : `&head=${encodeURIComponent(from)}`;
      return (await listAll(`pulls?state=open${filter}`)).map(toPullRequest);
    },
    readPullRequest: async (number) => toPullRequest(await call('GET', at(`pulls/${number}`))),
    listComments: async (number) => (await listAll(`issues/${number}/comments`)).map(toComment),
    async ownName() {
      return textAt(await call('POST', graphql, { query: '{viewer{login}}' }), 'data', 'viewer', 'login');
    },
    createComment: async (number, body) => toComment(await call('POST', at(`issues/${number}/comments`), { body })),
    updateComment: async (id, body) => toComment(await call('PATCH', at(`issues/comments/${id}`), { body })),
  };
}

function toRefusal(what: string, { status, headers }: Response, text: string): TeddyError {
  const reason = /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? 'no reason given';
  const message = `GitHub answered ${status} to ${what}: ${reason.slice(0, 300)}`;
  return new TeddyError('REMOTE_REFUSED', message, adviseOn(status, headers));
}

function adviseOn(status: number, headers: Response['headers']): string {
  const wait = headers.get('retry-after');
  const reset = headers.get('x-ratelimit-remaining') === '0' ? Number(headers.get('x-ratelimit-reset')) : NaN;
  if (wait !== undefined && /^\d+$/.test(wait)) return `Run the command again in ${wait} seconds.`;
  if (Number.isFinite(reset)) return `Run the command again after ${new Date(reset * 1000).toISOString()}.`;
  if (status === 429) return 'Run the command again in a few minutes.';
  if (status >= 500) return 'Run the command again later.';
  return 'The token needs `pull-requests: write`. A pull request from a fork never gets it: write the comment from a `workflow_run` job.';
}

function strangeAnswer(fault: string): TeddyError {
  const hint = 'Check GITHUB_API_URL, GITHUB_GRAPHQL_URL and GITHUB_REPOSITORY.';
  return new TeddyError('REMOTE_REFUSED', `GitHub's answer ${fault}.`, hint);
}

function valueAt(value: unknown, ...names: string[]): unknown {
  return names.reduce((found, name) => field(found, name), value);
}

function textAt(value: unknown, ...names: string[]): string {
  const found = valueAt(value, ...names);
  if (typeof found === 'string') return found;
  throw strangeAnswer(`has no ${names.join('.')}`);
}

function numberAt(value: unknown, name: string): number {
  const found = field(value, name);
  if (typeof found === 'number' && Number.isSafeInteger(found)) return found;
  throw strangeAnswer(`has no ${name}`);
}

function toPullRequest(value: unknown): PullRequest {
  const head = textAt(value, 'head', 'sha');
  const repository = valueAt(value, 'head', 'repo', 'full_name');
  if (!isOid(head)) throw strangeAnswer('has no commit');
  return {
    number: numberAt(value, 'number'),
    isOpen: field(value, 'state') === 'open',
    repository: typeof repository === 'string' ? repository : null,
    branch: textAt(value, 'head', 'ref'),
    head,
    base: textAt(value, 'base', 'ref'),
  };
}

function toComment(value: unknown): ForgeComment {
  const [body, author] = [field(value, 'body'), valueAt(value, 'user', 'login')];
  return {
    id: numberAt(value, 'id'),
    // The author's account may be gone.
    author: typeof author === 'string' ? author : '',
    body: typeof body === 'string' ? body : '',
    url: textAt(value, 'html_url'),
  };
}
