/** Explains why a request failed: from the package's errors to ours. */
import type { APIError } from 'openai';
import { TeddyError, type ErrorCode } from '../errors.ts';
import { CutStream } from './openai-events.ts';
import type { Endpoint } from './openai-settings.ts';

export type Failure =
  | { kind: 'refused'; status: number; requestId: string | null; retryAfterMs: number | null; message: string }
  | { kind: 'unreachable' | 'cut' | 'unreadable'; message: string };

type Sdk = Pick<typeof import('openai'), 'APIError' | 'APIConnectionError'>;

/** `begun`: the server had accepted the request. Null: nothing that a model or network does; a fault of our own. */
export function toFailure(sdk: Sdk, error: unknown, begun: boolean): Failure | null {
  if (error instanceof sdk.APIConnectionError) return { kind: 'unreachable', message: rootMessage(error) };
  if (error instanceof sdk.APIError) return error.status === undefined ? brokenOff(error) : refusal(error);
  if (error instanceof SyntaxError) return { kind: 'unreadable', message: 'it is no stream of events' };
  if (error instanceof CutStream) return { kind: 'cut', message: error.message };
  return begun && error instanceof Error ? { kind: 'cut', message: rootMessage(error) } : null;
}

function brokenOff(error: APIError): Failure {
  return { kind: 'unreadable', message: error.message };
}

function refusal(error: APIError): Failure {
  return {
    kind: 'refused',
    status: Number(error.status),
    requestId: error.requestID ?? null,
    retryAfterMs: parseRetryAfter(error.headers?.get('retry-after') ?? null, Date.now()),
    message: error.message.replace(/^\d{3} /, ''),
  };
}

/** Seconds, or an HTTP date; null when there is none or it makes no sense. */
export function parseRetryAfter(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  const waitMs = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs);
}

// "fetch failed" and "terminated" say nothing; the cause below them does. An AggregateError has a code but no message.
function rootMessage(error: Error): string {
  if (error.cause instanceof Error) return rootMessage(error.cause);
  return error.message || String((error as NodeJS.ErrnoException).code ?? error.name);
}

/** How a request of `session plan` is made again. */
export const planAgain = '`teddy session plan` without -m tries again; the message is kept.';

/**
 * The failure as the user reads it; `again` is the end of its hint. The API key is in no part of it, even where the server
 * repeats it.
 */
export function toTeddyError(failure: Failure, endpoint: Endpoint, model: string, again: string): TeddyError {
  const server = `The model server at ${endpoint.url}`;
  const reason = oneLine(failure.message, endpoint.apiKey);
  switch (failure.kind) {
    case 'unreachable':
      return new TeddyError(
        'MODEL_UNREACHABLE',
        `${server} cannot be reached: ${reason}`,
        `Check the network and OPENAI_BASE_URL; ${again}`,
      );
    case 'cut':
      return new TeddyError('MODEL_INTERRUPTED', `${server} was cut off in mid-answer: ${reason}`, again);
    case 'unreadable':
      return new TeddyError('MODEL_FAILED', `${server} broke its answer off: ${reason}`, again);
    case 'refused': {
      const id = failure.requestId === null ? '' : ` (request ${oneLine(failure.requestId, endpoint.apiKey)})`;
      const [code, advice] = explain(failure.status, failure.retryAfterMs, endpoint, model);
      return new TeddyError(code, `${server} answered ${failure.status}${id}: ${reason}`, `${advice}${again}`);
    }
  }
}

function explain(
  status: number,
  retryAfterMs: number | null,
  endpoint: Endpoint,
  model: string,
): [code: ErrorCode, advice: string] {
  switch (status) {
    case 401:
    case 403:
      return ['MODEL_AUTH', adviseOnKey(endpoint)];
    case 404:
      return ['MODEL_NOT_FOUND', `Check teddy.model (now ${model}) and OPENAI_BASE_URL; `];
    case 429:
      return ['MODEL_RATE_LIMIT', `Wait ${retryAfterMs === null ? 'a while' : toSeconds(retryAfterMs)}; `];
    default:
      return ['MODEL_FAILED', status < 500 ? 'The server objects to the request, not to the connection; ' : ''];
  }
}

function adviseOnKey({ apiKey, keyOrigin }: Endpoint): string {
  if (apiKey === '') return 'Set OPENAI_API_KEY; ';
  return keyOrigin === 'git credential' ? 'Check the key, which came from git credential; ' : 'Check OPENAI_API_KEY; ';
}

function toSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s, as the server asks (Retry-After)`;
}

const maxReasonLength = 300;
// A shorter "key" is a placeholder such as `none`, which occurs in ordinary text.
const minKeyLength = 8;

function oneLine(text: string, apiKey: string): string {
  const safe = apiKey.length < minKeyLength ? text : text.replaceAll(apiKey, '[API key]');
  const line = safe.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  if (line.length <= maxReasonLength) return line || 'no message';
  return `${line.slice(0, maxReasonLength).replace(/[\uD800-\uDBFF]$/, '')}...`;
}
