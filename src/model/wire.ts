/** Sends one request to a model's server, retries it where a retry can help, and returns the answer as a stream of events. */
import { field, isObject, parseJson } from '../session/text/parse-object.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { nameSome } from '../session/text/name-some.ts';
import { NotSent } from '../web/proxy.ts';
import { findTarget, isRedirect, request, type WebRequest } from '../web/request.ts';
import { Response, type Headers } from '../web/response.ts';
import type { Endpoint } from './endpoint.ts';
import { errorWords, rootMessage, toRetryAfter, WireError, withoutKey, type Failure } from './failure.ts';

/** The fields that an endpoint has refused for a model; teddy remembers them for a day. */
export interface RefusedFields {
  read(): Promise<string[]>;
  keep(names: string[]): Promise<void>;
}

export interface Service {
  endpoint: Endpoint;
  model: string;
  /** True to request the answer as a stream. */
  isStreamed: boolean;
  /** The wait before the first retry; the second wait is twice as long. */
  retryDelayMs: number;
  /** The wait before the first retry after a 429 that does not specify when to retry; 30 s in total. */
  rateDelayMs: number;
  /** Called before a wait that the user will notice. */
  onWait?: ((text: string) => void) | undefined;
  /** Called with anything that the user should know about an answer or its request. */
  onWarning?: ((text: string) => void) | undefined;
  refused?: RefusedFields | undefined;
}

interface Sending {
  url: string;
  body: string;
  signal: AbortSignal;
  /** Returns true if a JSON document is an answer or an error (rather than anything else). */
  isAnswer(value: Record<string, unknown>): boolean;
}

export const defaultDelays = { retryDelayMs: 500, rateDelayMs: 10_000 };

const maxRetries = 2;
// The user waits at the terminal, so teddy does not retry when a server asks for a longer wait; the error then names
// the options.
const maxRetryAfterMs = 60_000;
const noticedMs = 1000;

/** Sends the request up to three times, but never again once the server has accepted it. Throws WireError. */
export async function post(service: Service, sending: Sending): Promise<Response> {
  for (let retry = 0; ; retry += 1) {
    try {
      return await send(service.endpoint, sending);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      const waitMs = retry < maxRetries ? waitBeforeRetry(error.failure, service, retry) : null;
      if (waitMs === null) throw error;
      if (waitMs >= noticedMs) service.onWait?.(describeWait(service, error.failure, waitMs, retry));
      await sleep(waitMs, undefined, { signal: sending.signal });
    }
  }
}

function describeWait({ endpoint }: Service, failure: Failure, waitMs: number, retry: number): string {
  const what = failure.kind === 'refused' ? `answered ${failure.status}` : 'cannot be reached';
  const asked = failure.kind === 'refused' && failure.retryAfterMs !== null ? ', as it asks' : '';
  return `The model server at ${endpoint.url} ${what}; waiting ${Math.ceil(waitMs / 1000)} s${asked}, then trying again (${retry + 2} of ${maxRetries + 1}).`;
}

/** Returns null when retrying would not help. */
function waitBeforeRetry(failure: Failure, { retryDelayMs, rateDelayMs }: Service, retry: number): number | null {
  if (failure.kind === 'unreachable')
    return failure.advice === undefined ? withJitter(retryDelayMs * 2 ** retry) : null;
  if (failure.kind !== 'refused' || (failure.status !== 429 && failure.status < 500)) return null;
  if (failure.type === 'insufficient_quota') return null;
  const delayMs = (failure.status === 429 ? rateDelayMs : retryDelayMs) * 2 ** retry;
  const waitMs = failure.retryAfterMs ?? withJitter(delayMs);
  return waitMs <= maxRetryAfterMs ? waitMs : null;
}

// Varies the delay, because many clients that a server refused at the same time must not all return at the same time.
function withJitter(delayMs: number): number {
  return delayMs * (0.75 + Math.random() / 4);
}

async function send(endpoint: Endpoint, { url, body, signal, isAnswer }: Sending): Promise<Response> {
  const response = await ask(url, endpoint, { method: 'POST', body, signal });
  return toStream(response, { url, isAnswer, quote: (text) => quoteWords(text, endpoint) });
}

/** Throws WireError for everything but success. Sends the endpoint's key, if the caller passes an endpoint. */
async function ask(url: string, endpoint: Endpoint | null, init: WebRequest): Promise<Response> {
  const keyed = endpoint === null ? {} : keyHeaders(endpoint);
  const headers = { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'teddy', ...keyed };
  const response = await request(url, { ...init, headers }).catch((error: unknown) => {
    if ((init.signal?.aborted && !isTimeout(init.signal.reason)) || !(error instanceof Error)) throw error;
    const advice = error instanceof NotSent ? error.advice : undefined;
    throw new WireError({ kind: 'unreachable', message: rootMessage(error), advice });
  });
  if (isRedirect(response.status)) throw new WireError(await toRedirected(response, url, endpoint));
  if (!response.ok) throw new WireError(await toRefusal(response, url, endpoint));
  return response;
}

async function toRedirected(
  { status, headers, body }: Response,
  url: string,
  endpoint: Endpoint | null,
): Promise<Failure> {
  body.cancel?.();
  const location = withoutKey(headers.get('location') ?? '', endpoint?.apiKey ?? '');
  const target = findTarget(status, location, new URL(url));
  // Omits the query, which may contain a token.
  const address = target === null ? 'nowhere' : `to ${target.protocol}//${target.host}${target.pathname}`;
  return { kind: 'redirected', url, message: `${status}, which leads ${address}` };
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

/** Reads the JSON document at an address, or the answer to `body`, if given. Throws WireError. */
export async function readJson(
  url: string,
  {
    endpoint = null,
    body,
    timeoutMs,
    ...options
  }: { endpoint?: Endpoint | null; body?: object; timeoutMs: number; redirects?: number },
): Promise<unknown> {
  const init = body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) };
  const response = await ask(url, endpoint, { ...init, ...options, signal: AbortSignal.timeout(timeoutMs) });
  const text = await response.text();
  const value = parseJson(text);
  if (value !== undefined) return value;
  const type = response.headers.get('content-type') ?? 'no content type';
  const what = isPage(response.headers) ? 'an HTML page' : 'text that is not JSON';
  throw new WireError({
    kind: 'foreign',
    url,
    message: `${response.status} (${type}) with ${what} ${quoteWords(text, endpoint)}`,
  });
}

async function toRefusal(response: Response, url: string, endpoint: Endpoint | null): Promise<Failure> {
  const { status, headers } = response;
  // The connection may break while an error's body arrives; the status is informative enough.
  const body = await response.text().catch(() => '');
  const answer = [parseJson(body)].flat()[0];
  const error = field(answer, 'error');
  const type = [field(error, 'code'), field(error, 'type'), field(answer, 'code')].find(isText) ?? null;
  return {
    kind: 'refused',
    status,
    url,
    type,
    requestId: headers.get('x-request-id') ?? headers.get('request-id') ?? null,
    retryAfterMs: toRetryAfter(headers, Date.now()),
    message: isPage(headers) ? `${describePage(headers)} ${quoteWords(body, endpoint)}` : errorWords(body),
  };
}

/** Turns an answer in a single JSON document into a stream with one event, whatever teddy requested. */
async function toStream(
  response: Response,
  { url, isAnswer, quote }: Pick<Sending, 'url' | 'isAnswer'> & { quote(text: string): string },
): Promise<Response> {
  const { headers, status } = response;
  const type = headers.get('content-type') ?? 'no content type';
  const toForeign = (what: string) =>
    new WireError({ kind: 'foreign', url, message: `${status} (${type}) with ${what}` });
  if (isPage(headers)) throw toForeign(`an HTML page ${quote(await response.text())}`);
  if (!/\bjson\b/i.test(type)) return refuseSilence(response, () => toForeign('nothing at all'));
  const text = await response.text();
  if (text.trim() === '') throw toForeign('nothing at all');
  const value = parseJson(text);
  if (value === undefined) throw toForeign(`text that is not JSON and ${quote(text)}`);
  if (!isObject(value) || !isAnswer(value)) throw toForeign(`JSON that contains no answer and ${quote(text)}`);
  return new Response(`data: ${JSON.stringify(value)}\n\ndata: [DONE]\n\n`, { status, headers });
}

/** Refuses a stream without a single byte, which does not count as an interrupted answer. */
function refuseSilence(response: Response, toError: () => Error): Response {
  let isSilent = true;
  return watchBytes(response, {
    onBytes: ({ length }) => {
      isSilent &&= length === 0;
    },
    onEnd() {
      if (isSilent) throw toError();
    },
  });
}

/** Avoids a TransformStream, which drops its buffer when the connection breaks. */
export function watchBytes(
  { body, status, headers }: Response,
  { onBytes, onEnd }: { onBytes(bytes: Uint8Array): void; onEnd?(): void },
): Response {
  async function* pass(): AsyncGenerator<Uint8Array> {
    for await (const bytes of body) {
      onBytes(bytes);
      yield bytes;
    }
    onEnd?.();
  }
  return new Response(pass(), { status, headers });
}

function isPage(headers: Headers): boolean {
  return /\bx?html\b/i.test(headers.get('content-type') ?? '');
}

function describePage(headers: Headers): string {
  return `an HTML page (${headers.get('content-type')})`;
}

const maxWords = 120;

/** Quotes the beginning of a text or page, without tags and without the endpoint's key. */
function quoteWords(text: string, endpoint: Endpoint | null): string {
  const words = withoutKey(text, endpoint?.apiKey ?? '')
    .slice(0, 20_000)
    .replace(/<(style|script|svg)\b.*?<\/\1\s*>/gis, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  if (words === '') return 'without a word';
  return `that begins ${JSON.stringify(words.length <= maxWords ? words : `${words.slice(0, maxWords)}...`)}`;
}

/** Returns the headers with the key, in the form that the endpoint expects. */
function keyHeaders({ preset, apiKey }: Endpoint): Record<string, string> {
  if (preset.wire === 'anthropic')
    return { 'anthropic-version': '2023-06-01', ...(apiKey === '' ? {} : { 'x-api-key': apiKey }) };
  return apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
}

/** Returns the full address. Anthropic's base URL may end in its version or not. */
export function addressOf({ preset, url }: Endpoint, path: string): string {
  return preset.wire === 'anthropic' && !url.endsWith('/v1') ? `${url}/v1/${path}` : `${url}/${path}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Joins characters split between two pieces of text, so that the caller can write each piece by itself. */
export function wholeCharacters(): { add(text: string): string; rest(): string } {
  let half = '';
  return {
    add(piece) {
      const text = half + piece;
      half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? '';
      return text.slice(0, text.length - half.length);
    },
    rest: () => half,
  };
}

/** When the answer is over, reports its parts that are not text, each kind once. */
export function unknownParts({ onWarning, endpoint }: Service): { add(type: string): void; tell(): void } {
  const types = new Set<string>();
  return {
    add: (type) => void types.add(type),
    tell() {
      if (types.size > 0)
        onWarning?.(
          `The answer from ${endpoint.url} had parts that are not text, which were left out: ${nameSome([...types])}.`,
        );
    },
  };
}
