/**
 * A fake GitHub on loopback, and a fake GitLab with the same pull requests and comments, in pages, with tokens that may
 * read or also write.
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
  /** Those of a job on GitLab for the merge request 7. */
  gitlabEnv: Record<string, string>;
  comment(issue: number, login: string, body: string): FakeComment;
  close(): Promise<void>;
}

const writer = { token: 'ghs-writer', login: 'github-actions[bot]' };
const gitlabWriter = { token: 'glpat-writer', username: 'project_42_bot' };
/** The author of notes that the token may not see: GitLab leaves them out of their pages. */
export const unseen = 'auditor';

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
    gitlabEnv: {
      GITLAB_CI: 'true',
      CI_API_V4_URL: `${url}/api/v4`,
      CI_PROJECT_ID: '42',
      CI_PROJECT_URL: 'https://gitlab.example/org/app',
      CI_MERGE_REQUEST_IID: '7',
      TEDDY_GITLAB_TOKEN: gitlabWriter.token,
    },
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
    if (pathname.startsWith('/api/v4/')) return answerAsGitlab(incoming, { pathname, searchParams, text }, send);
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

  function answerAsGitlab(
    { method, headers }: IncomingMessage,
    { pathname, searchParams, text }: { pathname: string; searchParams: URLSearchParams; text: string },
    send: (status: number, value: unknown, headers?: object) => unknown,
  ): void {
    const token = headers['private-token'];
    if (token !== gitlabWriter.token && token !== 'glpat-reader')
      return void send(401, { message: '401 Unauthorized' });
    if (pathname === '/api/v4/user') return void send(200, { username: gitlabWriter.username });
    if (method !== 'GET' && token !== gitlabWriter.token)
      return void send(403, { error: 'insufficient_scope', error_description: 'The request requires more.' });
    const [, number, notes, id] =
      /^\/api\/v4\/projects\/42\/merge_requests\/(\d+)(\/notes(?:\/(\d+))?)?$/.exec(pathname) ?? [];
    const pull = forge.pulls.find((one) => one.number === Number(number));
    if (pull === undefined) return void send(404, { message: '404 Not found' });
    const { state, head, base } = pull;
    if (notes === undefined)
      return void send(200, {
        iid: pull.number,
        state: state === 'open' ? 'opened' : state,
        sha: head.sha,
        source_branch: head.ref,
        target_branch: base.ref,
      });
    const toNote = (one: FakeComment) => ({ id: one.id, author: { username: one.user.login }, body: one.body });
    // GitLab cuts the end off, and reads a body that does not say that it is JSON as a form.
    const isJson = headers['content-type'] === 'application/json';
    const body = isJson && text !== '' ? (JSON.parse(text) as { body: string }).body.trimEnd() : '';
    if (method !== 'GET' && body === '') return void send(400, { error: 'body is missing' });
    if (method === 'POST') return void send(201, toNote(forge.comment(pull.number, gitlabWriter.username, body)));
    const all = forge.comments.filter(({ issue }) => issue === pull.number);
    const found = all.find((one) => one.id === Number(id));
    if (method === 'PUT' && found !== undefined) return void send(200, toNote(Object.assign(found, { body })));
    const [size, page] = ['per_page', 'page'].map((name) => Number(searchParams.get(name))) as [number, number];
    const next = page * size < all.length ? String(page + 1) : '';
    const rows = all.slice((page - 1) * size, page * size).filter(({ user }) => user.login !== unseen);
    send(200, rows.map(toNote), { 'x-next-page': next });
    forge.meanwhile?.();
    forge.meanwhile = null;
  }

  return forge;
}
