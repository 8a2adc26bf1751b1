/**
 * The API, listening on a free port, for a project in memory.
 *
 *   const server = await openTestServer();
 *   const { session_id } = await server.begin('a.md');
 *   expect(await server.call('GET', `/api/write-session/status/${session_id}`)).toMatchObject({ status: 200 });
 *   await server.stop();
 */
import { request, type OutgoingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { usualStreamLimits, type StreamLimits } from '../../src/http/event-stream.ts';
import type { RequestLine } from '../../src/http/api.ts';
import type { PageTools } from '../../src/http/page-routes.ts';
import { sessionApi, type SessionApi } from '../../src/http/session-api.ts';
import { startServer, usualPatience, type Patience } from '../../src/http/start-server.ts';
import { serverWrites, type WriteApi } from '../../src/http/write-api.ts';
import { writeLimits, type Limits } from '../../src/session/settings/write-limits.ts';
import { findPageSource, readPage } from '../../src/workflow/page/read-page.ts';
import { memoryProject, type MemoryProject } from './memory-repository.ts';

export interface TestServer {
  project: MemoryProject;
  url: string;
  port: number;
  token: string;
  /** The logged requests. */
  lines: RequestLine[];
  failures: unknown[];
  /** Cleared sessions. */
  cleaned: string[];
  /** With the token, and an object as JSON. */
  call(method: string, path: string, body?: unknown, headers?: OutgoingHttpHeaders): Promise<Answer>;
  /** A session for a new file; returns its response. */
  begin(target: string, more?: Record<string, unknown>): Promise<{ session_id: string } & Record<string, unknown>>;
  append(id: string, offset: number, data: string): Promise<Answer>;
  finalize(id: string, more?: Record<string, unknown>): Promise<Answer>;
  /** A connection on which a test may send anything. */
  open(): RawConnection;
  stop(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Empty if it is not JSON. */
  body: Record<string, unknown>;
  text: string;
}

export interface RawConnection {
  socket: Socket;
  /** Resolves when it has left. */
  send(text: string): Promise<void>;
  /** All received data, once the server has closed it. */
  closed: Promise<string>;
}

export interface TestServerOptions {
  writes?: Partial<WriteApi>;
  sessions?: Partial<SessionApi>;
  pages?: Partial<PageTools>;
  limits?: Partial<Limits>;
  patience?: Partial<Patience>;
  streamLimits?: Partial<StreamLimits>;
  project?: MemoryProject;
  /** Any free one, if not given. */
  port?: number;
}

export async function openTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const project = options.project ?? (await memoryProject());
  const lines: RequestLine[] = [];
  const failures: unknown[] = [];
  const cleaned: string[] = [];
  const { url, port, token, stop } = await startServer({
    writes: { ...serverWrites(project, ({ id }) => void cleaned.push(id)), ...options.writes },
    sessions: { ...sessionApi(project), ...options.sessions },
    pages: {
      project,
      open: async (notices) => ({ ...project, notices }),
      choose: () => Promise.reject(new Error('The test has given no model.')),
      find: findPageSource,
      openBrowser: async () => false,
      read: (opened, source) => readPage(opened, source, { version: '1.2.3', checks: false }),
      ...options.pages,
    },
    limits: { ...writeLimits, ...options.limits },
    servers: project.servers,
    clock: project.clock,
    report: { request: (line) => void lines.push(line), failure: (error) => void failures.push(error) },
    version: '1.2.3',
    port: options.port ?? 0,
    pid: 4711,
    patience: { ...usualPatience, ...options.patience },
    streamLimits: { ...usualStreamLimits, ...options.streamLimits },
  });
  const call: TestServer['call'] = (method, path, body, headers = {}) =>
    callServer({ port, method, path, body, headers: { Authorization: `Bearer ${token}`, ...headers } });
  const post = (name: string, body: object) => call('POST', `/api/write-session/${name}`, body);
  return {
    project,
    url,
    port,
    token,
    lines,
    failures,
    cleaned,
    call,
    async begin(target, more = {}) {
      const { status, body } = await post('begin', {
        intent: 'try',
        target_file: target,
        operation: 'create',
        ...more,
      });
      if (status !== 200) throw new Error(`begin: ${status} ${JSON.stringify(body)}`);
      return body as { session_id: string };
    },
    append: (id, offset, data) => post('append', { session_id: id, offset, data }),
    finalize: (id, more = {}) => post('finalize', { session_id: id, ...more }),
    open: () => openConnection(port),
    stop,
  };
}

interface Sent {
  port: number;
  method: string;
  path: string;
  body: unknown;
  headers: OutgoingHttpHeaders;
}

/** A header that is undefined is not sent. */
function callServer({ port, method, path, body, headers }: Sent): Promise<Answer> {
  const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const all = { ...(payload === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers };
  const known = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, agent: false, headers: known }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', reject).on('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json') === true;
        const parsed = (text === '' || !isJson ? {} : JSON.parse(text)) as Record<string, unknown>;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed, text });
      });
    });
    sent.on('error', reject);
    sent.end(payload);
  });
}

function openConnection(port: number): RawConnection {
  const socket = connect({ host: '127.0.0.1', port });
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  // A server that stops reading may reset the connection.
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  const send = (part: string) => new Promise<void>((resolve) => socket.write(part, () => resolve()));
  return { socket, send, closed };
}
