/** A client for a server's write sessions. Rewords the server's errors for the command line. */
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes, TeddyError, type ErrorCode } from '../errors.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import type { StatusAnswer } from './schemas.ts';
import { printTimeouts, type WriteApi } from './write-api.ts';
import { OffsetMismatch } from '../write/write-errors.ts';
import { toErrorStatus } from './status.ts';
import { parseJson } from '../session/text/parse-object.ts';
import { NotSent } from '../web/proxy.ts';
import { request as ask } from '../web/request.ts';
import type { Response } from '../web/response.ts';

export interface ClientOptions {
  /** The server's address without a path: `http://127.0.0.1:5000`. */
  url: string;
  token: string;
  limits: Pick<Limits, 'networkTries' | 'networkDelayMs' | 'idleExpiryMs'>;
  /** Called before the client retries a failed connection. */
  onRetry(text: string): void;
  /** After it aborts, the client only saves the content that has arrived, or cancels an empty session. */
  signal?: AbortSignal;
  /** The time limit for this last request; 3,000 by default. */
  closingMs?: number;
}

interface Request {
  name: CallName;
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: object;
  /** True when sending the request twice has the effect of sending it once, so that the client may resend it. */
  isRepeatable: boolean;
}

/** Each call throws SERVER_UNREACHABLE and the errors of the workflow's verbs. The bytes must form whole characters. */
export function writeClient(options: ClientOptions): WriteApi {
  const call = <Answer>(request: Request) => send<Answer>(options, request);
  const status = (id: string) => call<StatusAnswer>(get('status', `/status/${encodeURIComponent(id)}`));
  const writes: WriteApi = {
    begin: ({ intent, target, operation, session, ownMarker }) =>
      call(post('begin', { intent, target_file: target, operation, session, own_end_marker: ownMarker }, false)),
    async append({ id, offset, bytes }) {
      const at = offset ?? (await status(id)).size;
      return call(post('append', { session_id: id, offset: at, data: toText(bytes) }, true));
    },
    async finalize({ id, content, force }) {
      return call(post('finalize', { session_id: id, content: content && toText(content), force }, true));
    },
    status,
    list: async () => (await call<{ sessions: StatusAnswer[] }>(get('list', ''))).sessions,
    async cancel(id) {
      await call({ name: 'cancel', method: 'DELETE', path: `/${encodeURIComponent(id)}`, isRepeatable: false });
    },
  };
  return printTimeouts(writes, options.limits.idleExpiryMs);
}

/** Throws USAGE unless the text is the URL of a server. */
export function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.username === '' && url.pathname === '/' && url.search === '' && url.hash === '';
  if (isPlain && /^https?:$/.test(url.protocol)) return url.origin;
  throw new TeddyError(
    'USAGE',
    `--server=${JSON.stringify(text.slice(0, 100))} is not a server address.`,
    'Use an address like http://127.0.0.1:5000, as `teddy serve` prints it.',
  );
}

function post(name: CallName, body: object, isRepeatable: boolean): Request {
  return { name, method: 'POST', path: `/${name}`, body, isRepeatable };
}

function get(name: CallName, path: string): Request {
  return { name, method: 'GET', path, isRepeatable: true };
}

async function send<Answer>(options: ClientOptions, request: Request): Promise<Answer> {
  const { isOk, status, body } = await connect(options, request);
  const isRejected = request.name === 'finalize' && body !== null && 'success' in body && body.success === false;
  if (!isOk && !isRejected) throw toClientError(request.name, options.url, status, body);
  if (body === null) throw toDefect(options.url, status);
  return body as Answer;
}

/** Sends the request. Retries only when it could not connect, or when repeating the request is safe. */
async function connect(options: ClientOptions, request: Request): Promise<Answered> {
  const { networkTries, networkDelayMs } = options.limits;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetchOnce(options, request);
    } catch (error) {
      if (options.signal?.aborted)
        throw new TeddyError(
          'INTERRUPTED',
          `Interrupted before ${options.url} answered, so teddy cannot tell whether the server carried out the request.`,
          `\`teddy write list --server ${options.url}\` lists the write sessions.`,
          { cause: error },
        );
      if (attempt >= networkTries || !(request.isRepeatable || isRefused(error)))
        throw new TeddyError(
          'SERVER_UNREACHABLE',
          `Failed to connect to backend at ${options.url}. Check if server is running.`,
          'Start it in the repository with `teddy serve`, which prints its address.',
          { cause: error },
        );
      const text = 'Failed to connect to backend. Check if server is running. Retrying...';
      options.onRetry(`${text} (attempt ${attempt}/${networkTries})`);
      await sleep(networkDelayMs);
    }
  }
}

interface Answered {
  isOk: boolean;
  status: number;
  /** Null when the answer is not a JSON object. */
  body: object | null;
}

function fetchOnce({ url, token, signal, closingMs }: ClientOptions, request: Request): Promise<Answered> {
  const { name, method, path, body } = request;
  // After an interruption, the client still saves the content that has arrived, or cancels an empty session.
  const graceMs = name === 'append' || name === 'cancel' ? (closingMs ?? usualClosingMs) : 0;
  return withSignal({ signal, graceMs }, async (own) => {
    const response = await ask(`${url}/api/write-session${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: own,
    });
    return { isOk: response.ok, status: response.status, body: await readAnswer(response) };
  });
}

const usualClosingMs = 3000;

/** Runs `use` with a signal that aborts `graceMs` after `signal` does. */
async function withSignal<Value>(
  { signal, graceMs }: { signal: AbortSignal | undefined; graceMs: number },
  use: (own: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const own = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const abort = () => {
    if (graceMs === 0) own.abort();
    else timer = setTimeout(() => own.abort(), graceMs);
  };
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  try {
    return await use(own.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Returns true if the request was never sent. */
function isRefused(error: unknown): boolean {
  const codes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];
  return error instanceof NotSent || codes.includes(String((error as { code?: unknown }).code));
}

/** Returns null when the answer is not a JSON object. */
async function readAnswer(response: Response): Promise<object | null> {
  const value = parseJson(await response.text());
  return typeof value === 'object' ? value : null;
}

/** Decodes the bytes, because JSON can carry only text. Throws VALIDATION_FAILED. */
function toText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    const message = 'The content is not valid UTF-8, and a server accepts nothing else.';
    throw new TeddyError('VALIDATION_FAILED', message, 'Run the command without --server.', { cause: error });
  }
}

type CallName = 'begin' | 'append' | 'finalize' | 'status' | 'list' | 'cancel';

/** Turns a server's error into a command line error with the same code, worded for the user who runs the command. */
function toClientError(name: CallName, url: string, status: number, body: object | null): TeddyError {
  const { error, code, expected_offset: expected } = (body ?? {}) as Record<string, unknown>;
  if (typeof error !== 'string' || typeof code !== 'string') return toDefect(url, status);
  if (code === 'TOKEN_REFUSED')
    return new TeddyError(
      'SERVER_UNREACHABLE',
      `The server at ${url} rejected the token.`,
      'Run the command in the repository that it serves, or set TEDDY_SERVER_TOKEN to the token in its server.json.',
    );
  if (typeof expected === 'number') return new OffsetMismatch(error, expected);
  // The workflow has no code for HTTP's own refusals or for defects of the server.
  const known = Object.hasOwn(exitCodes, code) ? (code as ErrorCode) : 'SERVER_UNREACHABLE';
  if (name === 'begin') return new TeddyError(known, `Cannot start new session: ${error}`, hintOf(code));
  const isLarge = code === 'CONTENT_TOO_LARGE';
  const message = isLarge ? 'Content too large (exceeds 10MB). Please split into smaller files.' : error;
  return new TeddyError(known, message, hintOf(code));
}

/** The answer came from another program, or from a teddy server that does not work properly. */
function toDefect(url: string, status: number): TeddyError {
  return new TeddyError(
    'SERVER_UNREACHABLE',
    `${url} answered with status ${status}, but not the way a teddy server does.`,
    'Check the address: `teddy serve` prints it.',
  );
}

function hintOf(code: string): string | undefined {
  if (code === 'WRITE_ACTIVE') return '`teddy write list` shows it; `teddy write cancel <id>` cancels it.';
  if (code === 'UNKNOWN_WRITE') return '`teddy write list` lists the write sessions.';
  if (code === 'CONTENT_TOO_LARGE')
    return "Or raise the limit in the server's repository: `git config teddy.write.maxBytes`.";
  // The message already explains what was wrong with the request.
  return toErrorStatus(code as ErrorCode) === 500 ? "See the server's log for details." : undefined;
}
