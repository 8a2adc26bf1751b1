/** The API as one function from request to answer: who may call, which call it is, and errors that all look alike. */
import type { IncomingMessage } from 'node:http';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Clock } from '../ports.ts';
import type { Limits } from '../write/limits.ts';
import { admit } from './gate.ts';
import { readJson } from './read-body.ts';
import { Refusal, toErrorAnswer } from './refusal.ts';
import type { RequestReport } from './report.ts';
import { writeRoutes, type Route } from './write-routes.ts';
import type { WriteVerbs } from './write-verbs.ts';

/** A request that was admitted. */
export interface Call {
  /** Of the path; empty where the path has none. */
  sessionId: string;
  json(): Promise<unknown>;
  /** Which session it is about, for the log. */
  note(sessionId: string): void;
}

export interface Reply {
  status: ContentfulStatusCode;
  body: object;
}

export interface ApiOptions {
  verbs: WriteVerbs;
  limits: Limits;
  token: string;
  version: string;
  clock: Clock;
  report: RequestReport;
}

type Env = { Bindings: HttpBindings; Variables: { sessionId?: string; code?: string } };
type Api = OpenAPIHono<Env>;

export function createApi(options: ApiOptions): Api {
  const { verbs, limits, token } = options;
  const api: Api = new OpenAPIHono<Env>();
  logRequests(api, options);
  api.use((context, next) => {
    admit(toKnock(context.env.incoming), token);
    return next();
  });
  const routes = writeRoutes(verbs, limits);
  for (const route of routes) addRoute(api, route, limits);
  addDocument(api, options.version);
  refuseOtherMethods(api, [...routes.map(toPlace), { method: 'get', path: documentPath }]);
  api.notFound((context) => toResponse(context, new Refusal('NO_SUCH_CALL', 'There is no such call.'), options));
  api.onError((error, context) => toResponse(context, error, options));
  return api;
}

const documentPath = '/openapi.json';

function addRoute(api: Api, { config, answer }: Route, limits: Limits): void {
  api.openAPIRegistry.registerPath(config);
  api.on(config.method.toUpperCase(), config.getRoutingPath(), async (context) => {
    const { status, body } = await answer(toCall(context, limits));
    if ('code' in body) context.set('code', String(body.code));
    return context.json(body, status);
  });
}

function toCall(context: Context<Env>, limits: Limits): Call {
  const sessionId = context.req.param('session_id') ?? '';
  if (sessionId !== '') context.set('sessionId', sessionId);
  return {
    sessionId,
    json: () => readJson(context.env.incoming, limits),
    note: (id) => context.set('sessionId', id),
  };
}

/** Described and served from the schemas that check the requests. */
function addDocument(api: Api, version: string): void {
  api.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  const description = 'Large content as plain text: staged as it comes, validated, committed exactly once.';
  const info = { title: 'teddy', version, description };
  api.get(documentPath, (context) => {
    const url = new URL(context.req.url).origin;
    return context.json(api.getOpenAPI31Document({ openapi: '3.1.0', info, servers: [{ url }] }));
  });
}

type Place = Pick<Route['config'], 'method'> & { path: string };

function toPlace({ config }: Route): Place {
  return { method: config.method, path: config.getRoutingPath() };
}

function refuseOtherMethods(api: Api, places: Place[]): void {
  for (const path of new Set(places.map((place) => place.path))) {
    const allowed = places.filter((place) => place.path === path).map(({ method }) => method.toUpperCase());
    api.all(path, () => {
      throw new Refusal('METHOD_NOT_ALLOWED', `Call it with ${allowed.join(', ')}.`, { Allow: allowed.join(', ') });
    });
  }
}

function toKnock({ headers, headersDistinct, socket }: IncomingMessage) {
  const { origin, authorization } = headers;
  return { hosts: headersDistinct.host ?? [], origin, authorization, port: socket.localPort ?? 0 };
}

function toResponse(context: Context<Env>, error: unknown, { report }: ApiOptions): Response {
  const { status, headers, body } = toErrorAnswer(error);
  if (status === 500) report.failure(error);
  context.set('code', body.code);
  // What is left of the body is not read: the connection cannot be used again.
  if (isArriving(context.env.incoming)) context.header('Connection', 'close');
  return context.json(body, status, headers);
}

function isArriving({ complete, headers }: IncomingMessage): boolean {
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return hasBody && !complete;
}

function logRequests(api: Api, { clock, report }: ApiOptions): void {
  api.use(async (context, next) => {
    const startMs = performance.now();
    await next();
    report.request({
      time: clock.now().toISOString(),
      method: context.req.method,
      // As it is encoded in a URL: no character of it can do anything to a terminal.
      path: new URL(context.req.url).pathname,
      status: context.res.status,
      ms: Math.round(performance.now() - startMs),
      ...(context.get('sessionId') === undefined ? {} : { session_id: context.get('sessionId') }),
      ...(context.get('code') === undefined ? {} : { code: context.get('code') }),
    });
  });
}
