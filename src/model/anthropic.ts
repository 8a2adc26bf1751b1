/**
 * Anthropic's Messages API, and compatible servers, read with `eventsource-parser`. The official SDK (@anthropic-ai/sdk
 * 1.12.0) does the same, but with it `dist/cli.cjs` had 3,493 KB instead of 2,766 KB, although the limit allowed only
 * 400 KB more, and `teddy plan` against a loopback server took 6 ms longer (median of 15 pairs). This file can be
 * removed when the SDK is smaller.
 */
import { createParser } from 'eventsource-parser';
import { checkRequest } from '../conversation/history/check-request.ts';
import { toAnthropicMessages } from '../conversation/history/model-messages.ts';
import type { AnthropicBlock, AnthropicMessage } from '../conversation/history/render-anthropic.ts';
import type { Model, ModelEvent, ModelRequest } from '../ports/model.ts';
import { defaultAnswer } from '../session/context/budget.ts';
import { splitSent } from '../session/context/sent-sections.ts';
import { toModelEvents } from './anthropic-events.ts';
import { sendAccepted } from './refused-fields.ts';
import { serverModel, type ServerModelOptions } from './server-model.ts';
import { addressOf, post, unknownParts, type Service } from './wire.ts';
import type { Response } from '../web/response.ts';

/** Throws BAD_SETTING for a base URL or key that no request could use; every other failure happens in `answer`. */
export function anthropicModel(options: ServerModelOptions): Model {
  return serverModel({ ...options, preset: options.preset ?? 'anthropic' }, answer);
}

async function* answer(service: Service, request: ModelRequest, onBegun: () => void): AsyncGenerator<ModelEvent> {
  const { endpoint } = service;
  const response = await sendAccepted(
    service,
    ['cache_control', 'thinking', 'output_config'],
    (without) => toBody(service, request, without),
    (body) =>
      post(service, {
        url: addressOf(endpoint, 'messages'),
        body: JSON.stringify(body),
        signal: request.signal,
        isAnswer: ({ type }) => type === 'message' || type === 'error',
      }),
  );
  onBegun();
  const unknown = unknownParts(service);
  yield* toModelEvents(readEvents(response), { hasTools: request.tools !== undefined, onUnknown: unknown.add });
  unknown.tell();
}

/** Reads everything that has arrived before it reports an error of the connection. */
async function* readEvents({ body }: Response): AsyncGenerator<unknown> {
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data) });
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    for (const data of arrived.splice(0)) yield data === '[DONE]' ? { type: 'message_stop' } : JSON.parse(data);
  }
}

/** Builds the body: the prompt, the user's request in its sections, later messages, and three or four cache breakpoints. */
function toBody({ model, isStreamed }: Service, request: ModelRequest, without: ReadonlySet<string>): object {
  const { reasoning, maxAnswerTokens, ...parameters } = request.parameters;
  checkRequest(request.messages, { wrapsArguments: true });
  const { system, messages } = toAnthropicMessages(request.messages);
  const maxTokens = Number(maxAnswerTokens ?? defaultMaxTokens(model));
  const { tools } = request;
  const thinking = Object.entries(toThinking(reasoning, { model, maxTokens, messages }));
  return {
    ...parameters,
    model,
    max_tokens: maxTokens,
    ...Object.fromEntries(thinking.filter(([name]) => !without.has(name))),
    ...toCached(system, messages, without.has('cache_control') ? {} : cached),
    ...(tools === undefined
      ? {}
      : {
          tools: tools.map(({ name, description, parameters: schema }) => ({
            name,
            description,
            input_schema: schema,
          })),
        }),
    stream: isStreamed,
  };
}

/** Returns a limit, because the API requires one. teddy continues a longer answer, as after any other limit. */
function defaultMaxTokens(model: string): number {
  return Math.min(32_000, defaultAnswer(model));
}

/** Models before 4.6 think within a budget, and think between calls only if they receive their earlier thoughts back. */
const thinksInBudget = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:$|[-@]\d{6,}|-latest))/;
const budgets: Record<string, number> = { low: 4096, medium: 12_288, high: 24_576 };
const minBudget = 1024;

function toThinking(
  reasoning: unknown,
  { model, maxTokens, messages }: { model: string; maxTokens: number; messages: AnthropicMessage[] },
): object {
  if (reasoning === undefined) return {};
  const display = { display: 'summarized' };
  if (!thinksInBudget.test(model))
    return { thinking: { type: 'adaptive', ...display }, output_config: { effort: reasoning } };
  const budget = Math.min(budgets[String(reasoning)] ?? minBudget, Math.floor(maxTokens / 2));
  const isWithinCalls = messages.at(-1)?.content.some(({ type }) => type === 'tool_result') ?? false;
  return budget < minBudget || isWithinCalls ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}

const cached = { cache_control: { type: 'ephemeral' } } as const;

type CacheMark = Partial<typeof cached>;
type CachedBlock = AnthropicBlock & CacheMark;

/**
 * Marks the parts that the endpoint can cache. The early parts rarely change: the prompt with the memos, the history,
 * tree and files, and in a conversation everything after them. The blocks of the first message, joined, are exactly its
 * text. The cache matches whole blocks, so each turn in the history is one, and the next request begins with the same
 * blocks.
 */
function toCached(system: string, messages: AnthropicMessage[], mark: CacheMark): object {
  const [first, ...following] = messages;
  const [opening, ...others] = first?.content ?? [];
  const parts = opening?.type === 'text' ? splitRequest(opening.text) : [];
  const hasMemos = parts.some(({ names }) => names.includes('memos'));
  const blocks: CachedBlock[] = [
    ...parts.flatMap(({ text, names }): CachedBlock[] => {
      const texts = names.includes('history') ? text.split(/(?<=\n)(?=\n## Turn )/) : [text];
      const last = texts.pop() ?? '';
      const before = texts.map((one): CachedBlock => ({ type: 'text', text: one }));
      return [...before, { type: 'text', text: last, ...(names.includes('message') ? {} : mark) }];
    }),
    ...others,
  ];
  return {
    ...(system === '' ? {} : { system: [{ type: 'text', text: system, ...(hasMemos ? {} : mark) }] }),
    messages: [...(first === undefined ? [] : [{ ...first, content: blocks }]), ...withLastCached(following, mark)],
  };
}

interface RequestPart {
  names: string[];
  text: string;
}

/** Splits a request into memos, history, tree and files, and message. Each part's sections form one block. */
function splitRequest(content: string): RequestPart[] {
  const parts: RequestPart[] = [];
  for (const { name, text } of splitSent(content)) {
    const last = parts.at(-1);
    if (name === 'file' && (last?.names.includes('tree') || last?.names.includes('file'))) {
      last.names.push(name);
      last.text += text;
    } else parts.push({ names: [name], text });
  }
  return parts;
}

function withLastCached(messages: AnthropicMessage[], mark: CacheMark): AnthropicMessage[] {
  const last = messages.at(-1);
  const block = last?.content.at(-1);
  if (last === undefined || block === undefined) return messages;
  const marked: CachedBlock = { ...block, ...mark };
  return [...messages.slice(0, -1), { ...last, content: [...last.content.slice(0, -1), marked] }];
}
