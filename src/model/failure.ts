/** Explains why a request failed. */
import { TeddyError, type ErrorCode } from '../errors.ts';
import type { ModelRequest } from '../ports/model.ts';
import { field, isObject, parseJson } from '../session/text/parse-object.ts';
import { formatCount } from '../session/text/format-count.ts';
import { listLargestSent } from '../session/context/sent-sections.ts';
import { keyNameOf, urlNameOf, type Endpoint } from './endpoint.ts';

export type Failure =
  | {
      kind: 'refused';
      status: number;
      url: string;
      /** The server's own name for the error: `context_length_exceeded`. */
      type: string | null;
      requestId: string | null;
      retryAfterMs: number | null;
      message: string;
    }
  /** The server accepted the request, but its answer does not come from a model. */
  | { kind: 'foreign'; url: string; message: string }
  /** The server redirects to another address, to which teddy sends nothing. */
  | { kind: 'redirected'; url: string; message: string }
  /** `advice` means that the same request would fail again. */
  | { kind: 'unreachable'; message: string; advice?: string | undefined }
  | { kind: 'cut' | 'unreadable'; message: string };

export class WireError extends Error {
  override readonly name = 'WireError';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The stream ended before the answer did. */
export class CutStream extends Error {
  override readonly name = 'CutStream';
}

/**
 * Returns null for an error that neither a model nor a network causes, which is a defect of teddy. `begun` is true when
 * the server had accepted the request.
 */
export function toFailure(error: unknown, begun: boolean): Failure | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof WireError) return at.failure;
  if (error instanceof SyntaxError) return { kind: 'unreadable', message: 'it is not a stream of events' };
  if (error instanceof CutStream) return { kind: 'cut', message: error.message };
  return begun && error instanceof Error ? { kind: 'cut', message: rootMessage(error) } : null;
}

/** Anthropic's rate limits, each with the remaining amount and the time when it resets. */
const limits = ['requests', 'tokens', 'input-tokens', 'output-tokens'].map((name) => `anthropic-ratelimit-${name}`);

/** Returns how long the server asks to wait: by `Retry-After`, otherwise until the first exhausted limit resets. */
export function toRetryAfter(headers: { get(name: string): string | null | undefined }, nowMs: number): number | null {
  const asked = parseRetryAfter(headers.get('retry-after'), nowMs);
  if (asked !== null) return asked;
  const spent = limits.filter((name) => headers.get(`${name}-remaining`) === '0');
  const waits = spent.flatMap((name) => parseRetryAfter(headers.get(`${name}-reset`), nowMs) ?? []);
  return waits.length === 0 ? null : Math.max(...waits);
}

/** Parses seconds or an HTTP date; returns null when the header is missing or makes no sense. */
export function parseRetryAfter(header: string | null | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  const waitMs = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs);
}

// Returns the innermost cause's message, because "fetch failed" and "terminated" explain nothing. An AggregateError has
// a code but no message.
export function rootMessage(error: Error): string {
  if (error.cause instanceof Error) return rootMessage(error.cause);
  return error.message || String((error as NodeJS.ErrnoException).code ?? error.name);
}

/** How to repeat a `teddy plan` request. */
export const planAgain = '`teddy plan` without -m tries again; the message is kept.';

/** Words the failure for the user. Never contains the API key, even if the server repeats it. */
export function toTeddyError(
  failure: Failure,
  endpoint: Endpoint,
  model: string,
  { again = planAgain, messages }: Pick<ModelRequest, 'again' | 'messages'>,
): TeddyError {
  const server = `The model server at ${endpoint.url}`;
  const reason = oneLine(failure.message, endpoint.apiKey);
  const urlName = urlNameOf(endpoint.preset);
  switch (failure.kind) {
    case 'unreachable':
      return new TeddyError(
        'MODEL_UNREACHABLE',
        `${server} cannot be reached: ${reason}`,
        `${failure.advice ?? `Check the network and ${urlName}`}; ${again}`,
      );
    case 'cut':
      return new TeddyError('MODEL_INTERRUPTED', `${server} was cut off mid-answer: ${reason}`, again);
    case 'unreadable':
      return new TeddyError('MODEL_FAILED', `${server} broke off its answer: ${reason}`, again);
    case 'foreign':
      return new TeddyError(
        'MODEL_FAILED',
        `No model has answered: ${failure.url} answered ${reason}.`,
        `Check ${urlName}, which usually has to end in /v1; ${again}`,
      );
    case 'redirected': {
      const { urlVariable } = endpoint.preset;
      const first = urlVariable === null ? '' : ` (or ${urlVariable}, which takes precedence)`;
      return new TeddyError(
        'MODEL_FAILED',
        `No model has answered: ${failure.url} answered ${reason}. Neither the request nor a key was sent there.`,
        `If that is the server to use, set teddy.baseUrl${first} to its base URL; ${again}`,
      );
    }
    case 'refused': {
      const id = failure.requestId === null ? '' : ` (request ${oneLine(failure.requestId, endpoint.apiKey)})`;
      const answered = `${server} answered ${failure.status}${id}: ${reason}`;
      if (isOverflow(failure)) return toOverflow(answered, model, messages);
      const [code, advice] = explain(failure, endpoint, model);
      return new TeddyError(code, answered, `${advice}${again}`);
    }
  }
}

type Refusal = Extract<Failure, { kind: 'refused' }>;

function explain(
  { status, url, type, retryAfterMs, message }: Refusal,
  endpoint: Endpoint,
  model: string,
): [ErrorCode, string] {
  const urlName = urlNameOf(endpoint.preset);
  // OpenRouter answers 400 for an unknown model.
  if (status === 404 || (status === 400 && /model_not_found|not a valid model/i.test(`${type} ${message}`)))
    return [
      'MODEL_NOT_FOUND',
      `${url} was asked for ${model}: check teddy.model (\`teddy models\` lists them) and ${urlName}; `,
    ];
  if ([400, 422].includes(status) && wrongKey.test(`${type} ${message}`)) return ['MODEL_AUTH', adviseOnKey(endpoint)];
  switch (status) {
    case 401:
    case 403:
      return ['MODEL_AUTH', adviseOnKey(endpoint)];
    case 429:
      if (type === 'insufficient_quota')
        return ['MODEL_RATE_LIMIT', 'The account has no credit left, and waiting does not help; '];
      return ['MODEL_RATE_LIMIT', `Wait ${retryAfterMs === null ? 'a while' : toSeconds(retryAfterMs)}; `];
    default:
      return ['MODEL_FAILED', status < 500 ? 'The connection works, but the server rejected the request; ' : ''];
  }
}

/** Gemini and xAI answer 400 for an unknown key. */
const wrongKey =
  /api[ _-]?key.{0,20}(?:not valid|invalid|incorrect|expired|missing|not found)|(?:incorrect|invalid|expired|missing|wrong|no) api[ _-]?key/i;

const overflowTypes = ['context_length_exceeded', 'exceed_context_size_error', 'request_too_large'];
const overflowWords =
  /context.?(?:length|window|size)|maximum context|prompt is too long|input (?:is )?too long|too many (?:input |prompt )?tokens|(?:prompt|input) token count|exceeds? .{0,60}\bcontext\b/i;

function isOverflow({ status, type, message }: Refusal): boolean {
  if (![400, 413, 422, 500].includes(status)) return false;
  return status === 413 || (type !== null && overflowTypes.includes(type)) || overflowWords.test(message);
}

const listed = 5;

function toOverflow(answered: string, model: string, messages: ModelRequest['messages']): TeddyError {
  const sections = listLargestSent(messages);
  const total = sections.reduce((sum, { tokens }) => sum + tokens, 0);
  const largest = sections.slice(0, listed).map(({ name, tokens }) => `${name} (about ${formatCount(tokens)})`);
  const lower = Math.max(1000, Math.floor((total * 0.7) / 1000) * 1000);
  return new TeddyError(
    'MODEL_OVERFLOW',
    `The request is too long for ${model}, with about ${formatCount(total)} tokens. ${answered}. The largest: ${largest.join(', ')}.`,
    `Lower the budget, \`git config teddy.contextTokens ${lower}\`, or show fewer files; then send your message again with -m; without -m, the same request is sent.`,
  );
}

function adviseOnKey({ preset, apiKey, keyOrigin }: Endpoint): string {
  if (apiKey === '') return `Set ${preset.keyVariable ?? 'a key: `git credential approve`'}; `;
  return keyOrigin === 'git credential'
    ? 'Check the key, which came from git credential; '
    : `Check ${keyNameOf(preset)}; `;
}

function toSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s, as the server asks (Retry-After)`;
}

const maxReasonLength = 300;
// A shorter "key" is a placeholder such as `none`, which also occurs in ordinary text.
const minKeyLength = 8;
const keyMark = '[API key]';

/**
 * Removes the key. The caller must do this before cutting or quoting a text, because the key could no longer be found
 * afterward; JSON contains it with escapes.
 */
export function withoutKey(text: string, apiKey: string): string {
  if (apiKey.length < minKeyLength) return text;
  return text.replaceAll(apiKey, keyMark).replaceAll(JSON.stringify(apiKey).slice(1, -1), keyMark);
}

function oneLine(text: string, apiKey: string): string {
  const line = withoutKey(text, apiKey)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  if (line.length <= maxReasonLength) return line || 'no message';
  return `${line.slice(0, maxReasonLength).replace(/[\uD800-\uDBFF]$/, '')}...`;
}

/** The fields where various APIs put an error's words. */
const places = 'title error errors message msg detail details error_description error_message reason description'.split(
  ' ',
);
const maxDepth = 10;
const maxErrors = 3;

/** Returns the words in an error's body, or the body itself when it has no known form. Never empty. */
export function errorWords(body: string): string {
  return wordsIn(parseJson(body), 0) || body.trim() || 'no message';
}

function wordsIn(value: unknown, depth: number): string {
  if (depth > maxDepth) return '';
  if (typeof value === 'string') return wordsOfText(value.trim(), depth);
  if (Array.isArray(value)) return join(value.slice(0, maxErrors), '; ', depth);
  if (!isObject(value)) return '';
  const words = join([...places.map((place) => value[place]), field(value['metadata'], 'raw')], ': ', depth);
  // Validators name the field separately.
  const place = Array.isArray(value['loc']) ? value['loc'].join('.') : '';
  return place === '' || words === '' ? words : `${place}: ${words}`;
}

/** Unwraps a body that a gateway quotes. */
function wordsOfText(text: string, depth: number): string {
  return (/^[[{]/.test(text) && wordsIn(parseJson(text), depth + 1)) || text;
}

function join(values: unknown[], separator: string, depth: number): string {
  const found = values.map((value) => wordsIn(value, depth + 1)).filter((words) => words !== '');
  return [...new Set(found)].join(separator);
}
