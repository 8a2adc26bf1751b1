/** Write sessions of a server, from a command: the calls of the API, and its errors in the words of the command line. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../errors.ts';
import type { Limits, Operation } from '../session/write-limits.ts';
import { toClientError, toDefect, toUnreachable, type CallName } from './client-errors.ts';
import type { AppendAnswer, BeginAnswer, FinalizeAnswer, ListAnswer, StatusAnswer } from './schemas.ts';
import { orTimedOut } from '../write/timed-out.ts';

export interface ClientOptions {
  /** Of the server, without a path: `http://127.0.0.1:5000`. */
  url: string;
  token: string;
  limits: Pick<Limits, 'networkTries' | 'networkDelayMs' | 'idleExpiryMs' | 'maxBytes'>;
  /** A connection has failed, and is tried again. */
  onRetry(text: string): void;
  /** From its abort on nothing more is asked, but that what had come is saved, or an empty session given up. */
  signal?: AbortSignal;
  /** So long that may take then; 3,000 if not given. */
  closingMs?: number;
}

interface RemoteBegin {
  intent: string;
  target: string;
  operation: Operation | string;
  session?: string | undefined;
  ownMarker?: boolean | undefined;
}

/** Each throws SERVER_UNREACHABLE, and the errors of the workflow's verbs. The answers are as they stand in `/openapi.json`. */
export interface WriteClient {
  begin(wish: RemoteBegin): Promise<BeginAnswer>;
  /** `offset`: where the bytes begin; without it, at the end of what the server has. The bytes are whole characters. */
  append(wish: { id: string; offset?: number | undefined; bytes: Uint8Array }): Promise<AppendAnswer>;
  /** Throws a RejectedContent when the content is not valid. */
  finalize(wish: {
    id: string;
    content?: Uint8Array | undefined;
    force?: boolean | undefined;
  }): Promise<FinalizeAnswer>;
  find(id: string): Promise<StatusAnswer>;
  list(): Promise<ListAnswer>;
  cancel(id: string): Promise<void>;
}

interface Request {
  name: CallName;
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: object;
  /** Whether the same request twice is as good as once: only then may it be sent again when it may have arrived. */
  isRepeatable: boolean;
}

export function writeClient(options: ClientOptions): WriteClient {
  const call = <Answer>(request: Request) => send<Answer>(options, request);
  const find = (id: string) => call<StatusAnswer>(get('status', `/status/${encodeURIComponent(id)}`));
  const orExpired = <Answer>(id: string, answer: Promise<Answer>) =>
    orTimedOut(
      answer,
      async () => (await find(id)).stage,
      () => options.limits.idleExpiryMs,
    );
  return {
    begin: ({ target, ownMarker, ...wish }) =>
      call(post('begin', { ...wish, target_file: target, own_end_marker: ownMarker }, false)),
    append: async ({ id, offset, bytes }) => {
      const at = offset ?? (await find(id)).size;
      return orExpired(id, call(post('append', { session_id: id, offset: at, data: toText(bytes) }, true)));
    },
    finalize: async ({ id, content, force }) => {
      const body = { session_id: id, content: content && toText(content), force };
      return orExpired(id, call(post('finalize', body, true)));
    },
    find,
    list: () => call(get('list', '')),
    async cancel(id) {
      await call({ name: 'cancel', method: 'DELETE', path: `/${encodeURIComponent(id)}`, isRepeatable: false });
    },
  };
}

/** Throws USAGE for what is no URL of a server. */
export function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.username === '' && url.pathname === '/' && url.search === '' && url.hash === '';
  if (isPlain && /^https?:$/.test(url.protocol)) return url.origin;
  throw new TeddyError(
    'USAGE',
    `--server=${JSON.stringify(text.slice(0, 100))} is no address of a server.`,
    'It looks like http://127.0.0.1:5000, as `teddy serve` prints it.',
  );
}

function post(name: 'begin' | 'append' | 'finalize', body: object, isRepeatable: boolean): Request {
  return { name, method: 'POST', path: `/${name}`, body, isRepeatable };
}

function get(name: CallName, path: string): Request {
  return { name, method: 'GET', path, isRepeatable: true };
}

async function send<Answer>(options: ClientOptions, request: Request): Promise<Answer> {
  const { isOk, status, body } = await connect(options, request);
  if (!isOk) throw toClientError(request.name, options.url, status, body);
  if (body === null) throw toDefect(options.url, status);
  return body as Answer;
}

/** Tries again only when there was no connection, or the request may be sent twice. */
async function connect(options: ClientOptions, request: Request): Promise<Answered> {
  const { networkTries, networkDelayMs } = options.limits;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetchOnce(options, request);
    } catch (error) {
      if (options.signal?.aborted) throw toInterrupted(options, error);
      if (attempt >= networkTries || !(request.isRepeatable || isRefused(error)))
        throw toUnreachable(options.url, error);
      const text = 'Failed to connect to backend. Check if server is running. Retrying...';
      options.onRetry(`${text} (attempt ${attempt}/${networkTries})`);
      await sleep(networkDelayMs);
    }
  }
}

interface Answered {
  isOk: boolean;
  status: number;
  /** Null: it is no JSON. */
  body: object | null;
}

function fetchOnce({ url, token, signal, closingMs }: ClientOptions, request: Request): Promise<Answered> {
  const { name, method, path, body } = request;
  const graceMs = isClosing(name) ? (closingMs ?? usualClosingMs) : 0;
  return withSignal({ signal, graceMs }, async (own) => {
    const response = await fetch(`${url}/api/write-session${path}`, {
      method,
      redirect: 'error',
      headers: { Authorization: `Bearer ${token}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: own,
    });
    return { isOk: response.ok, status: response.status, body: await readAnswer(response) };
  });
}

/** What had come is saved after an interruption too, and a session with nothing in it is given up. */
function isClosing(name: CallName): boolean {
  return name === 'append' || name === 'cancel';
}

const usualClosingMs = 3000;

/** Aborts `graceMs` after `signal` does; at once without any. */
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

function toInterrupted({ url }: ClientOptions, cause: unknown): TeddyError {
  return new TeddyError(
    'INTERRUPTED',
    `Interrupted before ${url} had answered; whether it has done what it was asked is not known.`,
    `\`teddy write list --server ${url}\` shows what there is.`,
    { cause },
  );
}

/** Nothing was sent. */
function isRefused(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } };
  const codes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];
  return codes.includes(String(cause?.code));
}

/** Null: it is no JSON. */
async function readAnswer(response: Response): Promise<object | null> {
  const text = await response.text();
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/** JSON carries text alone. Throws VALIDATION_FAILED. */
function toText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    const message = 'The content is not UTF-8, and a server takes only that.';
    throw new TeddyError('VALIDATION_FAILED', message, 'Write it without --server.', { cause: error });
  }
}
