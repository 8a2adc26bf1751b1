/**
 * A loopback server that speaks OpenAI's chat completions: `@copilotkit/aimock`, an independent mock, behind a small interface.
 *
 *   const server = await startModelServer({ answers: ['# Plan ...', { status: 500 }, { cutAfter: 3, text: '...' }] });
 *   // run the CLI with OPENAI_BASE_URL=server.url and any OPENAI_API_KEY
 *   expect(server.requests()[0]?.messages).toEqual(...);
 *   await server.close();
 *
 * Answers are taken in sequence, one per request (so a retried request takes the next one); a request without an answer left
 * gets a 400 that says so. aimock cannot send headers of our choice (except Retry-After on 429), bodies that are not
 * `{ error }`, or deviating streams; a few lines of node:http on the same port do that, for `raw` answers and for
 * errors with `headers` or a string as `body`. These work in a list, not from a function.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  LLMock,
  type ChatCompletionRequest,
  type Fixture,
  type Journal,
  type JournalEntry,
  type Mountable,
} from '@copilotkit/aimock';

interface ErrorAnswer {
  status: number;
  /** E.g. `{ 'retry-after': '2' }`. A 429 without headers has `Retry-After: 1`. */
  headers?: Record<string, string>;
  /** The error's message, or the whole body if it does not look like `{ message }`. */
  body?: { message: string; type?: string; code?: string } | string;
}

/** Sends this many chunks of the text, then destroys the socket. */
interface CutAnswer {
  cutAfter: number;
  text: string;
}

interface TextAnswer {
  text: string;
  /** The API's value; `stop` if not given. */
  finishReason?: string;
  usage?: { prompt_tokens: number; completion_tokens: number };
  /** Thinking, which is streamed before the text and is not part of the answer. */
  reasoning?: string;
  /** The calls after the text, streamed in pieces of the chunk size. The finish reason is `tool_calls` if not given. */
  toolCalls?: { name: string; arguments: string; id?: string }[];
}

/**
 * These bytes as a 200 event stream, or with the type `contentType`, one write each, then the end of the response, or
 * of the socket if `destroy`. Anything after a promise is sent only once that resolves.
 */
interface RawAnswer {
  raw: (string | Uint8Array | Promise<void>)[];
  destroy?: boolean;
  contentType?: string;
}

export type ServerAnswer = string | TextAnswer | ErrorAnswer | CutAnswer | RawAnswer;

interface ReceivedRequest {
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  model: string;
  messages: { role: string; content: string }[];
  /** The status that the server answered with. */
  status: number;
}

/**
 * aimock keeps the current request in an `AsyncLocalStorage` for each server, and never disables one. Until Node 24, each
 * of these makes every later promise of the process slower: a fifth of the processor time of all tests in memory.
 */
const storages = new Set<AsyncLocalStorage<unknown>>();
const enter = AsyncLocalStorage.prototype.run;
AsyncLocalStorage.prototype.run = function (this: AsyncLocalStorage<unknown>, ...args: Parameters<typeof enter>) {
  storages.add(this);
  return enter.apply(this, args);
};

/** A server that still runs enables its own again with its next request. */
function leaveStorages(): void {
  for (const storage of storages) storage.disable();
  storages.clear();
}

export interface ModelServer {
  /** For OPENAI_BASE_URL; ends in `/v1`. */
  url: string;
  /** The requests received so far, in order; also after `close`. `x-request-id` is the server's. */
  requests(): ReceivedRequest[];
  /** Drops connections that are still open. */
  close(): Promise<void>;
  /** Resolves when this many requests have arrived; rejects after 20 s. */
  waitForRequests(count: number): Promise<void>;
}

interface ModelServerOptions {
  answers:
    ServerAnswer[] | ((request: { model: string; messages: { role: string; content: string }[] }) => ServerAnswer);
  /** Characters (UTF-16 units, so that emoji are split) per chunk; 16 if not given. */
  chunkSize?: number;
  /** Waits before each chunk, e.g. 200 so that a test can interrupt in mid-stream. */
  chunkDelayMs?: number;
}

export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const queue = Array.isArray(options.answers) ? [...options.answers] : null;
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });

  function nextAnswer(request: ChatCompletionRequest): ServerAnswer {
    if (typeof options.answers === 'function') {
      return options.answers({ model: request.model, messages: toMessages(request.messages) });
    }
    return queue?.shift() ?? { status: 400, body: { message: 'The test has given the model server no answer more.' } };
  }

  // Never matches: it adds the matching fixture, made for this one request, which aimock's search finally reaches.
  mock.addFixture({
    match: {
      predicate(request) {
        const fixture = toFixture(nextAnswer(request), options);
        mock.addFixture({ ...fixture, match: { predicate: (other) => other === request } });
        return false;
      },
    },
    response: { content: '' },
  });
  const door = openDoor(queue ?? []);
  mock.mount('/v1', door);
  await mock.start();

  const { journal, url } = mock;
  const requests = () =>
    journal
      .getAll()
      .filter(({ method }) => method === 'POST')
      .map((entry) => toReceived(entry, door.headersOf(entry)));
  let closing: Promise<void> | undefined;
  return {
    url: `${url}/v1`,
    requests,
    waitForRequests: (count) => waitUntil(() => requests().length >= count, `${count} requests`),
    close() {
      // aimock would wait for slow answers to end.
      door.disconnect();
      return (closing ??= mock.stop().then(leaveStorages));
    },
  };
}

function toFixture(
  answer: ServerAnswer,
  { chunkSize = 16, chunkDelayMs = 0 }: ModelServerOptions,
): Omit<Fixture, 'match'> {
  const pace = { chunkSize, latency: chunkDelayMs };
  if (typeof answer === 'string') return { ...pace, response: { content: answer } };
  if ('cutAfter' in answer) return toCutFixture(answer, pace);
  if ('status' in answer) return { response: toErrorResponse(answer) };
  if ('raw' in answer) throw new Error('A function cannot give a raw answer; use a list.');
  const { text, toolCalls, ...overrides } = answer;
  if (toolCalls === undefined) return { ...pace, response: { content: text, ...overrides } };
  return { ...pace, response: { ...(text === '' ? {} : { content: text }), toolCalls, ...overrides } };
}

// aimock destroys the socket in the tick of the last chunk, which therefore is never sent; the first has no text.
// Without a pause none would be sent at all, and the client would see a failed connection instead of a cut answer.
function toCutFixture(
  { cutAfter, text }: CutAnswer,
  pace: { chunkSize: number; latency: number },
): Omit<Fixture, 'match'> {
  const latency = Math.max(pace.latency, 5);
  return { ...pace, latency, truncateAfterChunks: cutAfter + 2, response: { content: text } };
}

function toErrorResponse({ status, headers, body }: ErrorAnswer) {
  if (headers !== undefined || typeof body === 'string') throw new Error('A function cannot give headers; use a list.');
  return { status, error: body ?? { message: `The server failed with ${status}.` } };
}

function isRaw(answer: ServerAnswer | undefined): answer is RawAnswer | ErrorAnswer {
  if (typeof answer !== 'object') return false;
  return 'raw' in answer || ('status' in answer && (answer.headers !== undefined || typeof answer.body === 'string'));
}

interface Door extends Mountable {
  /** The original headers; the journal hides secret values. */
  headersOf(entry: JournalEntry): Record<string, string>;
  disconnect(): void;
}

/**
 * Sees every request first. Sends the answers that aimock cannot send, if one is next in the queue, and adds it to the
 * journal.
 */
function openDoor(queue: ServerAnswer[]): Door {
  const seen = new Map<string | undefined, Record<string, string>>();
  const sockets = new Set<Socket>();
  let journal: Journal | undefined;
  return {
    setJournal(theirs) {
      journal = theirs;
    },
    headersOf: (entry) => seen.get(entry.headers['x-request-id']) ?? entry.headers,
    disconnect() {
      for (const socket of sockets) socket.destroy();
    },
    async handleRequest(request, response, path) {
      sockets.add(request.socket);
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      seen.set(headers['x-request-id'], headers);
      const answer = queue[0];
      if (path !== '/chat/completions' || !isRaw(answer)) return false;
      queue.shift();
      const body = JSON.parse(await readBody(request)) as ChatCompletionRequest;
      const status = 'status' in answer ? answer.status : 200;
      journal?.add({ method: 'POST', path: `/v1${path}`, headers, body, response: { status, fixture: null } });
      await ('raw' in answer ? sendRaw(response, answer) : sendError(response, answer));
      return true;
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function sendRaw(
  response: ServerResponse,
  { raw, destroy = false, contentType = 'text/event-stream' }: RawAnswer,
): Promise<void> {
  response.writeHead(200, { 'content-type': contentType });
  response.flushHeaders();
  for (const part of raw) {
    const bytes = await part;
    if (bytes === undefined) continue;
    await new Promise<unknown>((resolve) => response.write(bytes, resolve));
    // Lets the bytes arrive separately, so that a character may be split between two reads.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  if (destroy) response.destroy();
  else response.end();
}

function sendError(response: ServerResponse, { status, headers, body }: ErrorAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(
    typeof body === 'string' ? body : JSON.stringify({ error: body ?? { message: `failed with ${status}` } }),
  );
}

function toReceived(entry: JournalEntry, headers: Record<string, string>): ReceivedRequest {
  // aimock adds these two to the received body.
  const { _endpointType, _context, ...body } = (entry.body ?? {}) as Record<string, unknown>;
  return {
    path: entry.path,
    headers,
    body,
    model: String(body['model']),
    messages: (body['messages'] ?? []) as ReceivedRequest['messages'],
    status: entry.response.status,
  };
}

function toMessages(messages: ChatCompletionRequest['messages']): { role: string; content: string }[] {
  return messages.map(({ role, content }) => ({ role, content: String(content) }));
}

async function waitUntil(reached: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 50_000;
  while (!reached()) {
    if (Date.now() > deadline) throw new Error(`Waited in vain for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
