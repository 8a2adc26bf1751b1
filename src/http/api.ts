/**
 * The API as one function from request to answer: it decides who may call and which call the client means, and puts
 * every error into the same form.
 */
import type { IncomingMessage } from 'node:http';
import { ContentTooLarge } from '../write/write-errors.ts';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { Clock, Hash } from '../ports/project.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import { appendSignal } from './append-signal.ts';
import {
  answerHeaders,
  contentSecurityPolicy,
  isAskedByOther,
  isForPerson,
  isOfPages,
  isSame,
  pageAccess,
  type PageAccess,
  type Visitor,
} from './page-access.ts';
import { pageActs, type PageActs } from './page-acts.ts';
import { issueLink, linkRoute, openingRoute, pageRoutes, type PageLink, type PageTools } from './page-routes.ts';
import { renderRefusal } from '../page/render-list.ts';
import { eventStreams, streamHeaders, type EventStreams, type StreamEnd, type StreamLimits } from './event-stream.ts';
import { Refusal, toErrorAnswer } from './refusal.ts';
import { oneAtATime, type Call, type PlainRoute, type Route } from './route.ts';
import { sessionRoutes } from './session-routes.ts';
import type { SessionApi } from './session-api.ts';
import type { StatusChanges } from './status.ts';
import { writeRoutes } from './write-routes.ts';
import type { WriteApi } from './write-api.ts';

/** One request in the log, as a line of JSON. Never contains content or the token. */
export interface RequestLine {
  /** ISO 8601. */
  time: string;
  /** Null when the client did not send an HTTP request. */
  method: string | null;
  path: string | null;
  status: number;
  ms: number | null;
  session_id?: string | undefined;
  code?: string | undefined;
}

/** Reports for the server's operator. */
export interface RequestReport {
  request(line: RequestLine): void;
  /** Reports a call that failed through no fault of the client. */
  failure(error: unknown): void;
}

export interface ApiOptions {
  writes: WriteApi;
  sessions: SessionApi;
  pages: PageTools;
  limits: Limits;
  streamLimits: StreamLimits;
  token: string;
  version: string;
  clock: Clock;
  report: RequestReport;
}

interface Variables {
  visitor?: Visitor;
  sessionId?: string;
  code?: string;
  statuses?: StatusChanges;
  /** Resolves when the stream has ended, with the error code for the log, if any. */
  ended?: Promise<string | undefined>;
}

type Env = { Bindings: HttpBindings; Variables: Variables };
type Api = OpenAPIHono<Env>;

export interface RunningApi {
  fetch: Api['fetch'];
  /** Makes a link to a page. With `mayApprove`, anybody who opens the link may approve plans on the page. */
  issueLink(origin: string, session: string | undefined, mayApprove: boolean): Promise<PageLink>;
  /** Ends the event streams, which would keep the server from stopping. The server still answers all other calls. */
  endStreams(): void;
  /** Like Ctrl-C, stops an act that a page started, and resolves when the act has ended. */
  endActs(): Promise<void>;
}

export function createApi(options: ApiOptions): RunningApi {
  const { report, clock } = options;
  const api: Api = new OpenAPIHono<Env>();
  const access = pageAccess(clock);
  logRequests(api, options);
  api.use(async (context, next) => {
    context.set('visitor', admit(context.env.incoming, { token: options.token, access, path: context.req.path }));
    await next();
  });
  const streams = eventStreams(options.streamLimits, (error) => report.failure(error));
  const { routes, pages, acts } = listRoutes(options, access);
  for (const { config, ...route } of routes) {
    api.openAPIRegistry.registerPath(config);
    addRoute(api, { ...route, method: config.method, path: config.getRoutingPath() }, options, streams);
  }
  for (const route of pages) addRoute(api, route, options, streams);
  addDocument(api, options.version);
  const described = routes.map(({ config }) => ({ method: config.method, path: config.getRoutingPath() }));
  refuseOtherMethods(api, [...described, ...pages, { method: 'get', path: documentPath }]);
  api.notFound((context) => toResponse(context, new Refusal('NO_SUCH_CALL', 'There is no such call.'), options));
  api.onError((error, context) => toResponse(context, error, options));
  return {
    fetch: api.fetch,
    issueLink: (origin, session, mayApprove) => issueLink(options.pages, access, { origin, session, mayApprove }),
    endStreams: () => streams.stop(),
    endActs: () => acts.end(),
  };
}

/** Lists the routes. One opened project serves all clients, so it makes changes one after another. */
function listRoutes(
  { writes, sessions, pages: tools, limits, streamLimits, report }: ApiOptions,
  access: PageAccess,
): { routes: Route[]; pages: PlainRoute[]; acts: PageActs } {
  const { lookMs } = streamLimits;
  const [appended, happened] = [appendSignal(), appendSignal()];
  const onEnd = () => {
    appended.notify();
    happened.notify();
  };
  const inTurn = oneAtATime(onEnd);
  const acts = pageActs({
    tools,
    onEnd,
    onEvent: () => happened.notify(),
    onDefect: (error) => report.failure(error),
  });
  const ofPages = { tools, access, acts, happened, lookMs };
  return {
    routes: [
      ...writeRoutes(writes, inTurn, limits),
      ...sessionRoutes({ sessions, inTurn, appended, lookMs, limits }),
      linkRoute(ofPages),
      openingRoute(ofPages),
    ],
    pages: pageRoutes(ofPages),
    acts,
  };
}

const documentPath = '/openapi.json';

/**
 * The error codes for the log. A stream ends normally when its client disconnects, when there is nothing more to send,
 * or when the server stops.
 */
const codes: Partial<Record<StreamEnd, string>> = { stalled: 'STREAM_STALLED', failed: 'STREAM_FAILED' };

interface AddedRoute extends Omit<PlainRoute, 'method'> {
  method: string;
}

function addRoute(
  api: Api,
  { method, path, statuses, answer }: AddedRoute,
  { limits, pages }: ApiOptions,
  streams: EventStreams,
): void {
  api.on(method.toUpperCase(), path, async (context) => {
    const { incoming, outgoing } = context.env;
    if (statuses !== undefined) context.set('statuses', statuses);
    // A HEAD request does not use up the link.
    if (incoming.method === 'HEAD' && path === '/open') return context.body(null, 200);
    const reply = await answer(toCall(context, limits));
    if ('events' in reply) {
      // The answer has the headers of a stream but no body.
      if (incoming.method === 'HEAD') return context.body(null, 200, streamHeaders);
      const ended = streams.open(outgoing, reply.events);
      context.set(
        'ended',
        ended.then((end) => codes[end]),
      );
      return RESPONSE_ALREADY_SENT;
    }
    if ('location' in reply)
      return context.body(null, reply.status, {
        ...answerHeaders,
        Location: reply.location,
        'Set-Cookie': reply.cookie,
      });
    if ('html' in reply)
      return context.html(reply.html, reply.status, toPageHeaders(pages.project.hash, reply.formAction));
    const { status, body } = reply;
    if ('code' in body) context.set('code', String(body.code));
    return context.json(body, status, answerHeaders);
  });
}

function toPageHeaders(hash: Hash, formAction: "'none'" | "'self'"): Record<string, string> {
  return { ...answerHeaders, 'Content-Security-Policy': contentSecurityPolicy(hash, formAction) };
}

function toCall(context: Context<Env>, limits: Limits): Call {
  const sessionId = context.req.param('session_id') ?? '';
  if (sessionId !== '') context.set('sessionId', sessionId);
  return {
    sessionId,
    session: context.req.param('session') ?? '',
    turn: context.req.param('turn') ?? '',
    origin: new URL(context.req.url).origin,
    port: context.env.incoming.socket.localPort ?? 0,
    peerPort: context.env.incoming.socket.remotePort ?? 0,
    visitor: context.get('visitor') ?? 'program',
    query: context.req.queries(),
    lastEventId: context.req.header('Last-Event-ID'),
    json: () => readJson(context.env.incoming, limits),
    note: (id) => context.set('sessionId', id),
  };
}

/** Adds `/openapi.json`, which is generated from the schemas that check the requests. */
function addDocument(api: Api, version: string): void {
  api.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  const description = [
    'Large content as plain text: staged as it arrives, validated, and committed exactly once.',
    'Sessions: append to the conversation, follow it live, and read it as messages for a model.',
  ].join('\n');
  const info = { title: 'teddy', version, description };
  api.get(documentPath, (context) => {
    const url = new URL(context.req.url).origin;
    return context.json(api.getOpenAPI31Document({ openapi: '3.1.0', info, servers: [{ url }] }));
  });
}

function refuseOtherMethods(api: Api, known: { method: string; path: string }[]): void {
  for (const path of new Set(known.map((route) => route.path))) {
    const allowed = known.filter((route) => route.path === path).map(({ method }) => method.toUpperCase());
    api.all(path, () => {
      throw new Refusal('METHOD_NOT_ALLOWED', `Use ${allowed.join(', ')}.`, { Allow: allowed.join(', ') });
    });
  }
}

function toResponse(context: Context<Env>, error: unknown, { report, pages }: ApiOptions): Response {
  const { incoming } = context.env;
  const isOfPage = isOfPages(incoming.method, context.req.path);
  const { status, headers, body } = toErrorAnswer(error, context.get('statuses'), { isForPage: isOfPage });
  if (status === 500) report.failure(error);
  context.set('code', body.code);
  const { complete, headers: sent } = incoming;
  const hasBody = sent['content-length'] !== undefined || sent['transfer-encoding'] !== undefined;
  // The server does not read the rest of the body, so it cannot reuse the connection.
  if (hasBody && !complete) context.header('Connection', 'close');
  if (!isForPerson(incoming)) return context.json(body, status, { ...answerHeaders, ...headers });
  // With this header, a browser would ask for a user name and a password.
  const { 'WWW-Authenticate': _challenge, ...others } = headers;
  return context.html(renderRefusal(body), status, { ...toPageHeaders(pages.project.hash, "'self'"), ...others });
}

/** Logs every request; logs a stream when it has ended. */
function logRequests(api: Api, { clock, report }: ApiOptions): void {
  api.use(async (context, next) => {
    const startMs = performance.now();
    await next();
    const log = (code: string | undefined) =>
      report.request({
        time: clock.now().toISOString(),
        method: context.req.method,
        // The path stays percent-encoded, so that none of its characters can control a terminal.
        path: new URL(context.req.url).pathname,
        status: context.res.status,
        ms: Math.round(performance.now() - startMs),
        ...(context.get('sessionId') === undefined ? {} : { session_id: context.get('sessionId') }),
        ...(code === undefined ? {} : { code }),
      });
    const ended = context.get('ended');
    if (ended === undefined) log(context.get('code'));
    else void ended.then(log);
  });
}

/**
 * Decides who may call at all, and returns who the caller is. A page in a browser can also reach the loopback address:
 * without CORS it cannot read the answers, but it can send requests; and under a name that resolves to 127.0.0.1 it can
 * even read. Therefore this checks Host, Origin and a token, in this order; for the pages, it also accepts the cookie
 * of an opened link. Throws HOST_REFUSED, ORIGIN_REFUSED, TOKEN_REFUSED.
 */
function admit(
  request: IncomingMessage,
  { token, access, path }: { token: string; access: PageAccess; path: string },
): Visitor {
  const { method, headers } = request;
  const host = requireOwnHost(request);
  const isOther = headers.origin !== undefined && headers.origin !== `http://${host}`;
  if (isOther || isAskedByOther(request)) {
    throw new Refusal('ORIGIN_REFUSED', 'Pages from other origins may not call this server.');
  }
  if (path === '/open') return 'program';
  const bearer = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  if (isSame(bearer, token)) return 'program';
  const visitor = isOfPages(method, path) ? access.visitorOf(request) : null;
  if (visitor !== null) {
    if (method === 'GET' || method === 'HEAD' || headers.origin !== undefined) return visitor;
    throw new Refusal(
      'ORIGIN_REFUSED',
      "The browser sent no Origin header with this request, so the page's origin is unknown.",
    );
  }
  const challenge = { 'WWW-Authenticate': 'Bearer' };
  throw new Refusal('TOKEN_REFUSED', 'Send the token from server.json: Authorization: Bearer <token>.', challenge);
}

/** Returns the host under the name that the client uses. */
function requireOwnHost({ headersDistinct, socket }: IncomingMessage): string {
  const port = socket.localPort ?? 0;
  const names = ['127.0.0.1', 'localhost', '[::1]'];
  // Clients omit the default port.
  const own = [...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])];
  const [host = '', ...others] = (headersDistinct.host ?? []).map((name) => name.toLowerCase());
  if (others.length === 0 && own.includes(host)) return host;
  throw new Refusal(
    'HOST_REFUSED',
    `This server answers only as 127.0.0.1:${port}, localhost:${port} or [::1]:${port}.`,
  );
}

/** A byte of content takes up to six bytes in JSON (`\u0000`); the rest of the body is small. */
const longestEscape = 6;
const besideContentBytes = 64 * 1024;

/** Throws UNSUPPORTED_MEDIA_TYPE, CONTENT_TOO_LARGE, REQUEST_ABORTED, MALFORMED_JSON. */
async function readJson(request: IncomingMessage, limits: Limits): Promise<unknown> {
  refuseOtherTypes(request);
  const bytes = await readBytes(request, limits);
  if (bytes.length === 0) throw new Refusal('MALFORMED_JSON', 'The body is empty: send JSON.');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch (error) {
    throw new Refusal('MALFORMED_JSON', 'The body is not valid JSON in UTF-8.', {}, { cause: error });
  }
}

function refuseOtherTypes({ headers }: IncomingMessage): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const isUtf8 = parameters.every((one) => !one.startsWith('charset=') || /^charset="?utf-?8"?$/.test(one));
  const encoding = headers['content-encoding'] ?? 'identity';
  if (type === 'application/json' && isUtf8 && encoding === 'identity') return;
  throw new Refusal(
    'UNSUPPORTED_MEDIA_TYPE',
    'Send the body as Content-Type: application/json, in UTF-8, uncompressed.',
  );
}

async function readBytes(request: IncomingMessage, limits: Limits): Promise<Buffer> {
  const maxBytes = limits.maxBytes * longestEscape + besideContentBytes;
  // Reads nothing when the announced size is already too large.
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new ContentTooLarge(limits);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // By default, `for await` would destroy the connection, and the server could not tell the client why.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new ContentTooLarge(limits);
      chunks.push(chunk);
    }
  } catch (error) {
    if (!request.errored || error instanceof Refusal) throw error;
    throw new Refusal(
      'REQUEST_ABORTED',
      'The connection was closed before the whole body had arrived.',
      {},
      { cause: error },
    );
  }
  return Buffer.concat(chunks, size);
}
