/** Any OpenAI-compatible endpoint: chat completions, streamed, through the `openai` package. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenAI } from 'openai';
import { TeddyError } from '../errors.ts';
import type { Model, ModelEvent, ModelRequest, ModelMessage, ModelTool } from '../ports/model.ts';
import { toModelEvents } from './openai-events.ts';
import { planAgain, toFailure, toTeddyError, type Failure } from './openai-failure.ts';
import { parseEndpoint, type Endpoint } from './openai-settings.ts';

interface OpenaiSettings {
  /** Missing or empty: no `Authorization` header is sent. */
  apiKey: string | undefined;
  /** Missing or empty: OpenAI's own. */
  baseUrl: string | undefined;
  /** For the advice after a refusal: `git credential`. */
  keyOrigin?: string | undefined;
  model: string;
  /** The wait before the first retry; it doubles for the second. 500 if not given. */
  retryDelayMs?: number;
}

interface Service {
  endpoint: Endpoint;
  model: string;
  retryDelayMs: number;
}

const maxRetries = 2;
// A person waits in front of the terminal: a server that asks for more gets no retry, and the error names its options.
const maxRetryAfterMs = 60_000;

/** Throws BAD_SETTING for a base URL or key that could never be sent; everything else fails in `answer`. */
export function openaiModel({ apiKey, keyOrigin, baseUrl, model, retryDelayMs = 500 }: OpenaiSettings): Model {
  const service = { endpoint: parseEndpoint(baseUrl, apiKey, keyOrigin), model, retryDelayMs };
  return {
    provider: 'openai',
    model,
    label: `${model} at ${service.endpoint.url}`,
    answer: (request) => answer(service, request),
  };
}

async function* answer(service: Service, request: ModelRequest): AsyncGenerator<ModelEvent> {
  // Only a request needs the package, and loading it takes longer than most commands do.
  const sdk = await import('openai');
  const wire = openWire(service.endpoint.apiKey);
  const client = toClient(sdk.OpenAI, service.endpoint, wire);
  let begun = false;
  try {
    const stream = await openStream(client, service, request, (error) => toFailure(sdk, error, false));
    begun = true;
    yield* toModelEvents(stream, { sawDone: wire.sawDone, hasTools: request.tools !== undefined });
  } catch (error) {
    if (request.signal.aborted) throw interrupted(service, request);
    const failure = toFailure(sdk, error, begun);
    throw failure === null ? error : toTeddyError(failure, service.endpoint, service.model, request.again ?? planAgain);
  }
}

// Every option that the package would otherwise take from the environment is given.
function toClient(Client: typeof OpenAI, endpoint: Endpoint, wire: Wire): OpenAI {
  return new Client({
    // The package wants some key; the wire sends only the real one.
    apiKey: endpoint.apiKey || 'none',
    baseURL: endpoint.url,
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    fetch: wire.fetch,
  });
}

/** Sends the request up to three times. Once the server has accepted it, it is never sent again. */
async function openStream(
  client: OpenAI,
  service: Service,
  request: ModelRequest,
  classify: (error: unknown) => Failure | null,
) {
  const body = toBody(service.model, request);
  // The package never takes its listener back, and a conversation asks many times under one signal.
  const signal = AbortSignal.any([request.signal]);
  for (let retry = 0; ; retry++) {
    try {
      return await client.chat.completions.create(body, { signal });
    } catch (error) {
      const waitMs = retry < maxRetries ? waitBeforeRetry(classify(error), service.retryDelayMs * 2 ** retry) : null;
      if (waitMs === null) throw error;
      await sleep(waitMs, undefined, { signal });
    }
  }
}

/** Null: asking again would not help. */
function waitBeforeRetry(failure: Failure | null, delayMs: number): number | null {
  if (failure?.kind === 'unreachable') return withJitter(delayMs);
  if (failure?.kind !== 'refused' || (failure.status !== 429 && failure.status < 500)) return null;
  const waitMs = failure.retryAfterMs ?? withJitter(delayMs);
  return waitMs <= maxRetryAfterMs ? waitMs : null;
}

// Many clients that were refused at once must not come back at once.
function withJitter(delayMs: number): number {
  return delayMs * (0.75 + Math.random() / 4);
}

function interrupted({ endpoint }: Service, { again = planAgain }: ModelRequest): TeddyError {
  return new TeddyError('INTERRUPTED', `Interrupted while the model at ${endpoint.url} was answering.`, again);
}

type Body = OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming;

/**
 * A request of the port as the body of a chat completion. `parameters` never override what we set. A request without
 * tools has no field that speaks of them.
 */
function toBody(model: string, { messages, parameters, tools }: ModelRequest): Body {
  return {
    ...parameters,
    model,
    messages: messages.map(toMessage),
    ...(tools === undefined ? {} : { tools: tools.map(toTool) }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function toMessage(message: ModelMessage): Body['messages'][number] {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== 'assistant' || message.toolCalls === undefined) {
    return { role: message.role, content: message.content };
  }
  return {
    role: 'assistant',
    // Some servers refuse an empty text beside calls.
    content: message.content === '' ? null : message.content,
    tool_calls: message.toolCalls.map(({ id, name, arguments: text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    })),
  };
}

function toTool({ name, description, parameters }: ModelTool): NonNullable<Body['tools']>[number] {
  return { type: 'function', function: { name, description, parameters } };
}

/** The bytes of a request and its answer, underneath the `openai` package. */

interface Wire {
  fetch(url: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Whether the server has said `[DONE]`, which the package keeps to itself. */
  sawDone(): boolean;
}

/**
 * Sends our own headers instead of the package's, which describe the user's machine and can be added to by
 * OPENAI_CUSTOM_HEADERS. An error's body arrives as `{ error: { message } }`, whatever its dialect was.
 */
function openWire(apiKey: string): Wire {
  let done = false;
  return {
    async fetch(url, init) {
      const response = await fetch(url, { ...init, headers: headersOf(apiKey) });
      if (!response.ok) return toPlainError(response);
      return watchForDone(response, () => {
        done = true;
      });
    },
    sawDone: () => done,
  };
}

function headersOf(apiKey: string): Record<string, string> {
  const headers = { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'teddy' };
  return apiKey === '' ? headers : { ...headers, authorization: `Bearer ${apiKey}` };
}

// The package drops every message that is not below `error`, as vLLM and FastAPI send them.
async function toPlainError(response: Response): Promise<Response> {
  const message = serverMessage(await response.text()) || 'no message';
  return new Response(JSON.stringify({ error: { message } }), { status: response.status, headers: response.headers });
}

function serverMessage(body: string): string {
  const answer = parseJson(body);
  const error = field(answer, 'error');
  const dialects = [field(error, 'message'), error, field(answer, 'message'), field(answer, 'detail')];
  return dialects.find((text) => typeof text === 'string') ?? body;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

const longestMark = '\r\ndata: [DONE]'.length;

function watchForDone(response: Response, onDone: () => void): Response {
  if (response.body === null) return response;
  let tail = '\n';
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = tail + Buffer.from(chunk).toString('latin1');
      if (/[\r\n]data: ?\[DONE\]/.test(text)) onDone();
      tail = text.slice(-longestMark);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(watch), { status: response.status, headers: response.headers });
}
