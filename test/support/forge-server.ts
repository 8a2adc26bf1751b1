/**
 * A fake GitHub on loopback: pull requests and comments, in pages, with tokens that may read or also write.
 *
 *   const forge = await startForgeServer();
 *   forge.pulls.push(pullOf(7, { head, branch: 'topic' }));
 *   await project.run(['ci', 'comment', ...], { env: forge.env });
 *   await forge.close();
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakePull {
  number: number;
  state: 'open' | 'closed';
  head: { sha: string; ref: string; repo: { full_name: string } | null };
  base: { ref: string };
}

export interface FakeComment {
  id: number;
  issue: number;
  user: { login: string };
  body: string;
  html_url: string;
}

export interface ForgeServer {
  pulls: FakePull[];
  comments: FakeComment[];
  /** `GET /path?query`, in order. */
  requests: string[];
  /** Answers every request with this, if it is set. */
  refusal: { status: number; headers?: Record<string, string>; message: string } | null;
  /** Happens once, when the comments are listed. */
  meanwhile: (() => unknown) | null;
  /** The variables of a job with the right to write. */
  env: Record<string, string>;
  /** Those of a job for a fork. */
  forkEnv: Record<string, string>;
  comment(issue: number, login: string, body: string): FakeComment;
  close(): Promise<void>;
}

const writer = { token: 'ghs-writer', login: 'github-actions[bot]' };

export const pullOf = (
  number: number,
  { head, branch = 'topic', repository = 'ada/app', base = 'main' }: Record<string, string>,
): FakePull => ({
  number,
  state: 'open',
  head: { sha: head ?? '', ref: branch, repo: { full_name: repository } },
  base: { ref: base },
});

export async function startForgeServer(): Promise<ForgeServer> {
  const server = createServer((incoming, response) => void answer(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const usual = { GITHUB_API_URL: `${url}/api`, GITHUB_GRAPHQL_URL: `${url}/graphql`, GITHUB_REPOSITORY: 'org/app' };
  const forge: ForgeServer = {
    pulls: [],
    comments: [],
    requests: [],
    refusal: null,
    meanwhile: null,
    env: { ...usual, GITHUB_TOKEN: writer.token },
    forkEnv: { ...usual, GITHUB_TOKEN: 'ghs-fork' },
    comment(issue, login, body) {
      const id = forge.comments.length + 1;
      const made = { id, issue, user: { login }, body, html_url: `https://forge.example/c/${id}` };
      forge.comments.push(made);
      return made;
    },
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  };

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const part of incoming) text += String(part);
    const { pathname, searchParams } = new URL(incoming.url ?? '', url);
    forge.requests.push(`${incoming.method} ${incoming.url}`);
    const send = (status: number, value: unknown, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    const { refusal } = forge;
    if (refusal !== null) return void send(refusal.status, { message: refusal.message }, refusal.headers);
    const token = incoming.headers.authorization?.replace('Bearer ', '');
    if (pathname === '/graphql') return void send(200, { data: { viewer: { login: writer.login } } });
    if (incoming.method !== 'GET' && token !== writer.token)
      return void send(403, { message: 'Resource not accessible by integration' });
    const [size, page] = ['per_page', 'page'].map((name) => Number(searchParams.get(name) ?? '1'));
    const cut = (rows: unknown[]) => rows.slice(((page ?? 1) - 1) * (size ?? 30), (page ?? 1) * (size ?? 30));
    const body = text === '' ? '' : (JSON.parse(text) as { body: string }).body;
    const path = pathname.replace('/api/repos/org/app/', '');
    const [, number] = /^(?:pulls|issues\/comments|issues)\/(\d+)/.exec(path) ?? [];
    if (path === 'pulls') {
      const from = searchParams.get('head');
      const isMeant = ({ state, head }: FakePull) =>
        state === 'open' && (from === null || from === `${head.repo?.full_name.split('/')[0]}:${head.ref}`);
      return void send(200, cut(forge.pulls.filter(isMeant)));
    }
    if (path === `pulls/${number}`)
      return void send(
        200,
        forge.pulls.find((one) => one.number === Number(number)),
      );
    if (path === `issues/comments/${number}`) {
      const found = forge.comments.find(({ id }) => id === Number(number));
      return void send(200, Object.assign(found ?? {}, { body }));
    }
    if (path !== `issues/${number}/comments`) return void send(404, { message: 'Not Found' });
    if (incoming.method === 'POST') return void send(201, forge.comment(Number(number), writer.login, body));
    send(200, cut(forge.comments.filter(({ issue }) => issue === Number(number))));
    forge.meanwhile?.();
    forge.meanwhile = null;
  }

  return forge;
}
