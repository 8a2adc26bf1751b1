/**
 * A git server over smart http on loopback: bare repositories below one directory, served by `git http-backend`, with pushes
 * allowed. It fails on command.
 *
 *   const server = await startGitServer();
 *   const url = await server.create('shared');
 *   server.fault = { kind: 'status', status: 503, times: 2 };
 *   ...
 *   await server.close();
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gitText } from './git-process.ts';
import { environmentOf } from './run-teddy.ts';

/**
 * `times`: this many requests fail, then it works again. `path`: only requests whose URL contains it
 * (`git-receive-pack`, `info/refs`).
 */
export type GitServerFault = { times: number; path?: string } & (
  | { kind: 'status'; status: number }
  /** The connection ends after so many bytes of the answer. */
  | { kind: 'cut'; afterBytes: number }
  /** git does all of its work, and nobody hears of it. */
  | { kind: 'lost' }
);

export interface GitServer {
  /** Without a `/` at its end. */
  url: string;
  /** The directory with the repositories. */
  root: string;
  fault: GitServerFault | null;
  /** Each request waits this long before it is answered. */
  delayMs: number;
  /** Who may connect; null for everybody. */
  account: { user: string; password: string } | null;
  /** `GET /shared.git/info/refs?service=git-upload-pack`, one for each request. */
  requests: string[];
  /** Makes an empty bare repository; returns its URL. */
  create(name: string): Promise<string>;
  close(): Promise<void>;
}

export async function startGitServer(): Promise<GitServer> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'teddy-server-')));
  const backend = join(gitText(root, ['--exec-path']), 'git-http-backend');
  const running = new Set<ChildProcess>();
  const http = createServer((request, response) => {
    server.requests.push(`${request.method} ${request.url}`);
    setTimeout(() => answer(server, backend, running, request, response), server.delayMs);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: GitServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    root,
    fault: null,
    delayMs: 0,
    account: null,
    requests: [],
    async create(name) {
      const path = join(root, `${name}.git`);
      execFileSync('git', ['init', '--quiet', '--bare', '-b', 'main', path], { env: environmentOf({}) });
      gitText(path, ['config', 'http.receivepack', 'true']);
      return `${server.url}/${name}.git`;
    },
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      await Promise.all([...running].map((child) => new Promise((resolve) => child.once('close', resolve))));
      await rm(root, { recursive: true, force: true });
    },
  };
  return server;
}

/** The fault, if it is this request's, with one time less left. */
function takeFault(server: GitServer, request: IncomingMessage): GitServerFault | null {
  const { fault } = server;
  if (fault === null || fault.times === 0 || !request.url?.includes(fault.path ?? '')) return null;
  fault.times -= 1;
  return fault;
}

function isAllowed({ account }: GitServer, request: IncomingMessage): boolean {
  if (account === null) return true;
  const expected = Buffer.from(`${account.user}:${account.password}`).toString('base64');
  return request.headers.authorization === `Basic ${expected}`;
}

function answer(
  server: GitServer,
  backend: string,
  running: Set<ChildProcess>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (!isAllowed(server, request)) {
    request.resume();
    response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end();
    return;
  }
  const fault = takeFault(server, request);
  if (fault?.kind === 'status') {
    request.resume();
    response.writeHead(fault.status).end();
    return;
  }
  const child = spawn(backend, [], { env: environmentOf(toCgi(server, request)), stdio: ['pipe', 'pipe', 'ignore'] });
  running.add(child);
  child.on('close', () => running.delete(child));
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  request.on('error', () => child.stdin.destroy());
  passOn(child, fault, response);
}

function passOn(child: ChildProcess, fault: GitServerFault | null, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  let isHeadSent = false;
  let sentBytes = 0;
  const send = (bytes: Buffer) => {
    sentBytes += bytes.length;
    if (fault?.kind !== 'cut' || sentBytes <= fault.afterBytes) response.write(bytes);
    else response.socket?.destroy();
  };
  child.stdout?.on('data', (bytes: Buffer) => {
    if (fault?.kind === 'lost') return;
    if (isHeadSent) return send(bytes);
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    isHeadSent = true;
    writeHead(head.toString('latin1', 0, end), response);
    response.flushHeaders();
    send(head.subarray(end + 4));
  });
  child.on('close', () => (fault?.kind === 'lost' ? response.socket?.destroy() : response.end()));
}

function writeHead(head: string, response: ServerResponse): void {
  const rows = head.split('\r\n').map((row): [string, string] => {
    const colon = row.indexOf(':');
    return [row.slice(0, colon), row.slice(colon + 1).trim()];
  });
  response.statusCode = Number(rows.find(([name]) => name === 'Status')?.[1].split(' ')[0] ?? 200);
  for (const [name, value] of rows) if (name !== 'Status') response.setHeader(name, value);
}

function toCgi(server: GitServer, request: IncomingMessage): Record<string, string | undefined> {
  const url = new URL(request.url ?? '/', server.url);
  return {
    GIT_PROJECT_ROOT: server.root,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: decodeURIComponent(url.pathname),
    QUERY_STRING: url.search.slice(1),
    REQUEST_METHOD: request.method,
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    CONTENT_LENGTH: request.headers['content-length'],
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
    GIT_PROTOCOL: request.headers['git-protocol']?.toString(),
    REMOTE_USER: server.account?.user ?? 'ada',
    REMOTE_ADDR: '127.0.0.1',
  };
}
