/**
 * Starts a repository's server, on the loopback address. Only one runs at a time; clients find it by its record, which it
 * removes when it stops. It is patient with slow clients up to a limit, and stops without cutting off any work.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { TeddyError } from '../errors.ts';
import type { ServerRecords } from '../ports/disk.ts';
import { createApi, type ApiOptions, type RunningApi } from './api.ts';
import { usualStreamLimits } from './event-stream.ts';
import type { PageLink } from './page-routes.ts';
import { Refusal, toErrorAnswer } from './refusal.ts';

export interface Patience {
  /** A request's headers must arrive within this time. */
  headersMs: number;
  /** The whole request must arrive within this time. */
  requestMs: number;
  /** A connection may be idle this long between two requests. */
  idleMs: number;
  /** How long a stopping server waits for requests that are still arriving. */
  stopMs: number;
}

export const usualPatience: Patience = { headersMs: 10_000, requestMs: 60_000, idleMs: 5000, stopMs: 2000 };

export interface ServerOptions
  extends Omit<ApiOptions, 'token' | 'streamLimits'>, Partial<Pick<ApiOptions, 'streamLimits'>> {
  servers: ServerRecords;
  /** The exact port, or 0 for any. Null means 5000 or the next free port. */
  port: number | null;
  pid: number;
  patience?: Patience;
}

export interface RunningServer {
  url: string;
  port: number;
  token: string;
  /**
   * Makes a link to a session's page or, without a session, to the list of all. With `mayApprove`, anybody who opens
   * the link may approve plans on the page.
   */
  issueLink(session: string | undefined, mayApprove: boolean): Promise<PageLink>;
  /** Resolves when the server has answered every request that arrived before. */
  stop(): Promise<void>;
}

/** Throws SERVER_RUNNING, and USAGE when the port is not available. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const claim = await options.servers.claim();
  try {
    const token = randomBytes(32).toString('base64url');
    const { listener, issueLink } = await openListener(options, token);
    const { port } = listener;
    const url = `http://127.0.0.1:${port}`;
    const stop = async () => {
      await listener.stop();
      await claim.release();
    };
    // Publishes the record last, so that everybody who reads it can already call the server.
    await claim.publish({ url, port, pid: options.pid, token }).catch(async (error: unknown) => {
      await listener.stop();
      throw error;
    });
    return { url, port, token, stop, issueLink: (session, mayApprove) => issueLink(url, session, mayApprove) };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function openListener(
  options: ServerOptions,
  token: string,
): Promise<{ listener: Listener; issueLink: RunningApi['issueLink'] }> {
  const { port, clock, report, patience = usualPatience, streamLimits = usualStreamLimits } = options;
  const { fetch, issueLink, endStreams, endActs } = createApi({ ...options, streamLimits, token });
  const onBroken = (refusal: Refusal) => {
    const { status, body } = toErrorAnswer(refusal);
    report.request({ time: clock.now().toISOString(), method: null, path: null, status, ms: null, code: body.code });
  };
  const listener = await listen({ fetch, port, patience, onBroken });
  const stop = async () => {
    endStreams();
    await endActs();
    await listener.stop();
  };
  return { listener: { ...listener, stop }, issueLink };
}

const loopback = '127.0.0.1';
const firstPort = 5000;
const triedPorts = 100;
const maxHeaderBytes = 16 * 1024;
const maxConnections = 256;

interface ListenOptions {
  fetch: Parameters<typeof getRequestListener>[0];
  /** The exact port, or 0 for any. Null means 5000 or the next free port. */
  port: number | null;
  patience: Patience;
  /** Called for a malformed or late request. */
  onBroken(refusal: Refusal): void;
}

interface Listener {
  port: number;
  /** Accepts no new connections, and resolves when the last one has closed. Finishes and answers work in progress. */
  stop(): Promise<void>;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Throws USAGE when the port is not available. */
async function listen({ fetch, port, patience, onBroken }: ListenOptions): Promise<Listener> {
  const options = {
    headersTimeout: patience.headersMs,
    requestTimeout: patience.requestMs,
    keepAliveTimeout: patience.idleMs,
    connectionsCheckingInterval: Math.min(1000, patience.headersMs),
    maxHeaderSize: maxHeaderBytes,
  };
  const errorHandler = () =>
    toBrokenResponse(new Refusal('MALFORMED_REQUEST', 'This is not an HTTP request.'), onBroken);
  const server = createServer(options, getRequestListener(fetch, { overrideGlobalObjects: false, errorHandler }));
  server.maxConnections = maxConnections;
  const { exchanges, sockets } = watch(server);
  answerBroken(server, exchanges, onBroken);
  const found = await bind(server, port);
  return { port: found, stop: () => stop(server, exchanges, sockets, patience.stopMs) };
}

function watch(server: Server): { exchanges: Set<Exchange>; sockets: Set<Socket> } {
  const exchanges = new Set<Exchange>();
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const exchange = { request, response };
    exchanges.add(exchange);
    response.on('close', () => exchanges.delete(exchange));
    if (!server.listening) response.shouldKeepAlive = false;
  });
  return { exchanges, sockets };
}

/** Answers a request with a malformed address, which hono cannot parse. */
function toBrokenResponse(refusal: Refusal, onBroken: (refusal: Refusal) => void): Response {
  onBroken(refusal);
  const { status, body } = toErrorAnswer(refusal);
  return Response.json(body, { status, headers: { Connection: 'close' } });
}

/** Answers malformed requests itself, because Node would close the connection without an answer that a client can parse. */
function answerBroken(server: Server, exchanges: Set<Exchange>, onBroken: (refusal: Refusal) => void): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const exchange = [...exchanges].find(({ request }) => request.socket === socket);
    const refusal = toRefusal(error);
    if (error.code === 'ECONNRESET' || !socket.writable || exchange?.response.headersSent) return void socket.destroy();
    // When an exchange exists, the code that reads the body receives the error and logs it.
    if (exchange === undefined) onBroken(refusal);
    socket.end(renderAnswer(refusal), () => (exchange ? exchange.request.destroy(refusal) : socket.destroy()));
  });
}

function toRefusal({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal('REQUEST_TIMEOUT', 'The request did not arrive in time.');
  if (code === 'HPE_INVALID_EOF_STATE')
    return new Refusal('REQUEST_ABORTED', 'The request ended before it was complete.');
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new Refusal('HEADERS_TOO_LARGE', `The headers are larger than ${maxHeaderBytes / 1024} KiB.`);
  }
  return new Refusal('MALFORMED_REQUEST', 'This is not an HTTP request.');
}

function renderAnswer(refusal: Refusal): string {
  const { status, body } = toErrorAnswer(refusal);
  const text = JSON.stringify(body);
  const headers = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close`;
  return `HTTP/1.1 ${status} ${refusal.code}\r\n${headers}\r\n\r\n${text}`;
}

async function bind(server: Server, wanted: number | null): Promise<number> {
  if (wanted !== null) {
    if (await tryPort(server, wanted)) return (server.address() as AddressInfo).port;
    throw new TeddyError('USAGE', `Port ${wanted} is in use.`, 'Choose another one, or omit --port.');
  }
  for (let port = firstPort; port < firstPort + triedPorts; port += 1) {
    if (await tryPort(server, port)) return port;
  }
  throw new TeddyError(
    'USAGE',
    `Ports ${firstPort} to ${firstPort + triedPorts - 1} are all in use.`,
    'Name a free port with --port <n>, or use --port 0 for any free one.',
  );
}

/** Returns false when another program uses the port. Throws USAGE when the user may not use it. */
async function tryPort(server: Server, port: number): Promise<boolean> {
  try {
    server.listen(port, loopback);
    await once(server, 'listening');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') return false;
    if (code !== 'EACCES') throw error;
    const hint = 'Choose a port above 1023 with --port <n>.';
    throw new TeddyError('USAGE', `You do not have permission to use port ${port}.`, hint, { cause: error });
  }
}

function stop(server: Server, exchanges: Set<Exchange>, sockets: Set<Socket>, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    // Once the time is over, a connection without a complete request has no work to cut off.
    const timer = setTimeout(() => {
      const busy = new Set(
        [...exchanges].filter(({ request }) => request.complete).map(({ request }) => request.socket),
      );
      for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
    }, graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    for (const { response } of exchanges) response.shouldKeepAlive = false;
  });
}
