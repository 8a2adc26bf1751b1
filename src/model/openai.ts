/** Any OpenAI-compatible endpoint: chat completions through the `openai` package. */
import type { OpenAI } from 'openai';
import type { Stream } from 'openai/streaming';
import type { Model, ModelEvent, ModelRequest, ModelMessage, ModelTool } from '../ports/model.ts';
import { presets } from '../session/settings/presets.ts';
import { errorWords, WireError } from './failure.ts';
import type { WebRequest } from '../web/request.ts';
import type { Response } from '../web/response.ts';
import { toModelEvents } from './openai-events.ts';
import { sendAccepted } from './refused-fields.ts';
import { serverModel, type ServerModelOptions } from './server-model.ts';
import { post, unknownParts, watchBytes, type Service } from './wire.ts';

type Sdk = typeof import('openai');
type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk;

/** Throws BAD_SETTING for a base URL or key that no request could use; every other failure happens in `answer`. */
export function openaiModel(options: ServerModelOptions): Model {
  return serverModel(options, answer);
}

async function* answer(service: Service, request: ModelRequest, onBegun: () => void): AsyncGenerator<ModelEvent> {
  // Loads the package only for a request, because loading takes longer than most commands do.
  const sdk = await import('openai');
  const wire = openWire(service);
  // The package never removes its listener, and a conversation sends many requests under one signal.
  const signal = AbortSignal.any([request.signal]);
  const client = toClient(sdk, service, wire);
  try {
    const stream = await sendAccepted(
      service,
      ['stream_options', 'reasoning_effort', ...limits],
      (without) => toBody(service, request, without),
      // The wire turns every answer into a stream, so the package always reads one, even if teddy did not request it.
      (body) => client.post<Stream<Chunk>>('/chat/completions', { body, signal, stream: true }),
    );
    onBegun();
    const unknown = unknownParts(service);
    const hasTools = request.tools !== undefined;
    yield* toModelEvents(stream, { sawDone: wire.sawDone, hasTools, onUnknown: unknown.add });
    unknown.tell();
  } catch (error) {
    if (!isTold(sdk, error)) throw error;
    throw new WireError({ kind: 'unreadable', message: errorWords(JSON.stringify(error.error ?? error.message)) });
  }
}

/** Returns true if the server sent the error as an event in its stream. */
function isTold(
  { APIError, APIConnectionError, APIUserAbortError }: Sdk,
  error: unknown,
): error is InstanceType<Sdk['APIError']> {
  return error instanceof APIError && !(error instanceof APIConnectionError || error instanceof APIUserAbortError);
}

// The longest time that Node's timers accept. With its default, the package would end a slow answer after ten minutes.
const noTimeout = 2_147_483_647;

// Sets every option that the package would otherwise take from the environment.
function toClient({ OpenAI }: Sdk, { endpoint }: Service, wire: Wire): OpenAI {
  return new OpenAI({
    // The package requires a key; the wire sends only a real one.
    apiKey: endpoint.apiKey || 'none',
    baseURL: endpoint.url,
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    timeout: noTimeout,
    // The package uses only the parts of a Response that teddy's own class has.
    fetch: wire.fetch as unknown as typeof fetch,
  });
}

type Body = Omit<OpenAI.Chat.Completions.ChatCompletionCreateParams, 'stream'> & { stream: boolean };

/** OpenAI's newer models refuse the old name, and most other servers support only the old one. */
const limits = ['max_completion_tokens', 'max_tokens'] as const;

/**
 * Turns one of the port's requests into the body of a chat completion. `parameters` never override fields that teddy
 * sets. A request without tools has no field about tools.
 */
function toBody(
  { model, isStreamed, endpoint }: Service,
  { messages, parameters, tools }: ModelRequest,
  without: ReadonlySet<string>,
): Body {
  const { reasoning, maxAnswerTokens, ...rest } = parameters;
  const names = endpoint.url === presets[0].url ? limits : limits.toReversed();
  const limit = names.find((name) => !without.has(name));
  const hasEffort = reasoning !== undefined && !without.has('reasoning_effort');
  return {
    ...rest,
    ...(hasEffort ? { reasoning_effort: reasoning as NonNullable<OpenAI.ReasoningEffort> } : {}),
    ...(maxAnswerTokens === undefined || limit === undefined ? {} : { [limit]: maxAnswerTokens }),
    model,
    messages: messages.map(toMessage),
    ...(tools === undefined ? {} : { tools: tools.map(toTool) }),
    stream: isStreamed,
    ...(isStreamed && !without.has('stream_options') ? { stream_options: { include_usage: true } } : {}),
  };
}

function toMessage(message: ModelMessage): Body['messages'][number] {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== 'assistant' || message.toolCalls === undefined) {
    return { role: message.role, content: message.content };
  }
  return {
    role: 'assistant',
    // Some servers refuse an empty text next to calls.
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

/** The bytes of a request and its answer, below the `openai` package. */
interface Wire {
  fetch(url: string, init?: WebRequest): Promise<Response>;
  /** Returns true if the server has sent `[DONE]`, which the package does not reveal. */
  sawDone(): boolean;
}

/**
 * Sends teddy's own headers instead of the package's, which describe the user's machine and which OPENAI_CUSTOM_HEADERS
 * can extend.
 */
function openWire(service: Service): Wire {
  let done = false;
  return {
    async fetch(url, init) {
      const response = await post(service, {
        url,
        body: String(init?.body),
        signal: init?.signal ?? new AbortController().signal,
        isAnswer: (value) => 'choices' in value || 'error' in value,
      });
      return watchForDone(response, () => {
        done = true;
      });
    },
    sawDone: () => done,
  };
}

const longestMark = '\r\ndata: [DONE]'.length;

function watchForDone(response: Response, onDone: () => void): Response {
  let tail = '\n';
  return watchBytes(response, {
    onBytes(bytes) {
      const text = tail + Buffer.from(bytes).toString('latin1');
      if (/[\r\n]data: ?\[DONE\]/.test(text)) onDone();
      tail = text.slice(-longestMark);
    },
  });
}
