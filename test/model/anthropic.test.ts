import { afterEach, describe, expect, test, vi } from 'vitest';
import type { TeddyError } from '../../src/errors.ts';
import { anthropicModel } from '../../src/model/anthropic.ts';
import type { ModelRequest } from '../../src/ports/model.ts';
import { collect, requestOf, textOf } from '../support/ask-model.ts';
import { stubRequests } from '../support/stub-requests.ts';

interface Sent {
  url: string;
  headers: Record<string, string>;
  body: {
    system?: { type: string; text: string; cache_control?: object }[];
    messages: { role: string; content: { type: string; text?: string; cache_control?: object }[] }[];
    [name: string]: unknown;
  };
}

const sent: Sent[] = [];

afterEach(() => {
  vi.restoreAllMocks();
  sent.length = 0;
});

type Reply = { status?: number; headers?: Record<string, string>; body: string };

function serve(...replies: Reply[]): void {
  stubRequests(async (url: string, init: { headers: Record<string, string>; body: string }) => {
    sent.push({ url, headers: init.headers, body: JSON.parse(init.body) as Sent['body'] });
    const { status = 200, headers = { 'content-type': 'text/event-stream' }, body } = replies.shift() ?? { body: '' };
    return new Response(body, { status, headers });
  });
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const textEvent = (text: string) =>
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
const end = (reason: string) =>
  event({ type: 'message_delta', delta: { stop_reason: reason } }) + event({ type: 'message_stop' });
const ok = (text = 'hi', reason = 'end_turn'): Reply => ({ body: textEvent(text) + end(reason) });
const json = { 'content-type': 'application/json' };
const refusal = (status: number, type: string, message: string, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { ...json, 'request-id': 'req_011', ...headers },
  body: JSON.stringify({ type: 'error', error: { type, message } }),
});

const apiKey = 'sk-ant-0123456789abcdef';
const ask = (request: Partial<ModelRequest> = {}, options: object = {}) =>
  collect(
    anthropicModel({ model: 'claude-sonnet-4-6', apiKey, retryDelayMs: 1, rateDelayMs: 1, ...options }).answer(
      requestOf(request),
    ),
  );
const failureOf = (request: Partial<ModelRequest> = {}) => ask(request).catch((error: unknown) => error as TeddyError);

const sections = {
  memos: '<!-- teddy-7f3a91c2 memos blob 01 -->\n- be brief\n',
  history: '<!-- teddy-7f3a91c2 history -->\n## Turn 01\n',
  tree: '<!-- teddy-7f3a91c2 tree -->\nsrc/a.ts\n',
  files: '<!-- teddy-7f3a91c2 file src/a.ts blob 02 -->\nü\n<!-- teddy-7f3a91c2 file b.ts blob 03 -->\nb\n',
  message: '<!-- teddy-7f3a91c2 message -->\nGrüße 🧸  ',
};
const log = Object.values(sections).join('');
const messages: ModelRequest['messages'] = [
  { role: 'system', content: 'You plan.\n' },
  { role: 'user', content: log },
];

describe('a request', () => {
  test('goes to the configured endpoint, with the key in its own header and no data about the machine', async () => {
    serve(ok(), ok(), ok());
    await ask();
    await ask({}, { baseUrl: 'http://127.0.0.1:8080/v1/' });
    await ask({}, { baseUrl: 'http://127.0.0.1:8080', apiKey: undefined });
    expect(sent.map(({ url }) => url)).toEqual([
      'https://api.anthropic.com/v1/messages',
      'http://127.0.0.1:8080/v1/messages',
      'http://127.0.0.1:8080/v1/messages',
    ]);
    expect(sent[0]?.headers).toEqual({
      accept: 'application/json',
      'content-type': 'application/json',
      'user-agent': 'teddy',
      'anthropic-version': '2023-06-01',
      'x-api-key': apiKey,
    });
    expect(sent[2]?.headers).not.toHaveProperty('x-api-key');
  });

  test('contains the log in blocks, byte for byte, cached after memos, history and files', async () => {
    serve(ok());
    await ask({ messages, parameters: { temperature: 0.2 } });
    const [{ body }] = sent as [Sent];
    expect(body).toMatchObject({ model: 'claude-sonnet-4-6', max_tokens: 32_000, temperature: 0.2, stream: true });
    expect(body.system).toEqual([{ type: 'text', text: 'You plan.\n' }]);
    expect(body.messages).toHaveLength(1);
    const blocks = body.messages[0]?.content ?? [];
    expect(blocks.map(({ text }) => text).join('')).toBe(log);
    expect(blocks.map(({ text, cache_control: cached }) => [text, cached?.constructor === Object])).toEqual([
      [sections.memos, true],
      [sections.history, true],
      [sections.tree + sections.files, true],
      [sections.message, false],
    ]);
    expect(body).not.toHaveProperty('tools');
    expect(body).not.toHaveProperty('thinking');
  });

  test('with a longer history begins with the same blocks as the one before, up to its cached point', async () => {
    const turn = (name: string) => `## Turn ${name}\n\n### Message\n\n\`\`\`text\nHello\n\`\`\`\n`;
    const history = (...turns: string[]) => `<!-- teddy-7f3a91c2 history -->\n${turns.map(turn).join('\n')}`;
    serve(ok(), ok());
    for (const shown of [history('01', '02'), history('01', '02', '03')])
      await ask({ messages: [{ role: 'user', content: `${sections.memos}${shown}${sections.message}` }] });
    const [before, after] = sent.map(({ body }) => body.messages[0]?.content ?? []);
    const cachedUpTo = before?.findIndex(({ text, cache_control }) => text?.includes('Turn 02') && cache_control) ?? -1;
    expect(cachedUpTo).toBeGreaterThan(1);
    const bare = (blocks = before ?? []) => blocks.slice(0, cachedUpTo + 1).map(({ text }) => text);
    expect(bare(after)).toEqual(bare(before));
    expect(after?.map(({ text }) => text).join('')).toContain('Turn 03');
  });

  test('without memos is cached after the prompt', async () => {
    serve(ok());
    await ask({
      messages: [messages[0] as { role: 'system'; content: string }, { role: 'user', content: 'plain words' }],
    });
    expect(sent[0]?.body.system?.[0]?.cache_control).toEqual({ type: 'ephemeral' });
    expect(sent[0]?.body.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'plain words' }] }]);
  });

  test('in a conversation has calls and results as blocks, and at most four cache points', async () => {
    serve(ok());
    const toolCalls = [
      { id: 'toolu_1', name: 'read_file', arguments: '{"path":"a"}' },
      { id: 'toolu_2', name: 'read_file', arguments: '' },
    ];
    const following: ModelRequest['messages'] = [
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', toolCallId: 'toolu_1', content: 'A' },
      { role: 'tool', toolCallId: 'toolu_2', content: 'B' },
    ];
    const tools = [{ name: 'read_file', description: 'Reads.', parameters: { type: 'object' } }];
    await ask({ messages: [...messages, ...following], tools });
    const [{ body }] = sent as [Sent];
    expect(body['tools']).toEqual([{ name: 'read_file', description: 'Reads.', input_schema: { type: 'object' } }]);
    expect(body.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'toolu_1', name: 'read_file', input: { path: 'a' } },
          { type: 'tool_use', id: 'toolu_2', name: 'read_file', input: { input: '' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'A' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: 'B', cache_control: { type: 'ephemeral' } },
        ],
      },
    ]);
    expect(JSON.stringify(body).split('"cache_control"')).toHaveLength(5);
  });

  test('that the API would refuse is not sent', async () => {
    serve(ok());
    const orphan: ModelRequest['messages'] = [...messages, { role: 'tool', toolCallId: 'x', content: 'y' }];
    expect(await failureOf({ messages: orphan })).toMatchObject({ code: 'HISTORY_INVALID' });
    expect(sent).toEqual([]);
  });

  test.each([
    ['claude-opus-4-6', { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } }],
    ['claude-sonnet-5', { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } }],
    ['claude-sonnet-4-5-20250929', { thinking: { type: 'enabled', budget_tokens: 4000 } }],
    ['claude-3-7-sonnet-latest', { thinking: { type: 'enabled', budget_tokens: 4000 } }],
  ])('to %s specifies how much to think, and how long the answer may be', async (model, expected) => {
    serve(ok());
    await ask({ parameters: { reasoning: 'low', maxAnswerTokens: 8000 } }, { model });
    expect(sent[0]?.body).toMatchObject({ max_tokens: 8000, ...expected });
    expect(sent[0]?.body).not.toHaveProperty('maxAnswerTokens');
  });

  test('to an older model has a limit that the model accepts', async () => {
    serve(ok());
    await ask({}, { model: 'claude-3-5-haiku-latest' });
    expect(sent[0]?.body['max_tokens']).toBe(8192);
  });
});

describe('an answer', () => {
  test.each([
    ['end_turn', { reason: 'stop' }],
    ['stop_sequence', { reason: 'stop' }],
    ['max_tokens', { reason: 'length' }],
    ['model_context_window_exceeded', { reason: 'length' }],
    ['refusal', { reason: 'other', said: 'refusal' }],
    ['pause_turn', { reason: 'other', said: 'pause_turn' }],
  ])('that ends because of %s reports it', async (reason, expected) => {
    serve(ok('hi', reason));
    expect((await ask()).at(-1)).toEqual({ type: 'finish', ...expected });
  });

  test('that ends with [DONE] and no reason is complete', async () => {
    serve({ body: `${textEvent('hi')}data: [DONE]\n\n` });
    expect((await ask()).at(-1)).toEqual({ type: 'finish', reason: 'stop' });
  });

  test('in one piece is requested without a stream, and has the same events', async () => {
    const message = {
      type: 'message',
      content: [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'Grüße' },
        { type: 'tool_use', id: 'toolu_1', name: 'read_file', input: { path: 'a' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 1, cache_creation_input_tokens: 20, cache_read_input_tokens: 300, output_tokens: 4 },
    };
    serve({ headers: json, body: JSON.stringify(message) });
    const tools = [{ name: 'read_file', description: '', parameters: {} }];
    expect(await ask({ tools }, { isStreamed: false })).toEqual([
      { type: 'thought', text: 'Hm.' },
      { type: 'text', text: 'Grüße' },
      { type: 'tool_call', id: 'toolu_1', name: 'read_file', arguments: '{"path":"a"}' },
      { type: 'usage', inputTokens: 321, outputTokens: 4, cachedTokens: 300 },
      { type: 'finish', reason: 'tool_calls' },
    ]);
    expect(sent[0]?.body).toMatchObject({ stream: false });
  });

  test('without token counts has no usage', async () => {
    const usage = { input_tokens: 0, output_tokens: 0 };
    serve({ body: event({ type: 'message_start', message: { usage } }) + textEvent('hi') + end('end_turn') });
    expect((await ask()).map(({ type }) => type)).toEqual(['text', 'finish']);
  });

  test('that breaks off with an error names the error', async () => {
    serve({
      body: textEvent('so far') + event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    });
    const error = await failureOf();
    expect(error).toMatchObject({ code: 'MODEL_FAILED' });
    expect((error as TeddyError).message).toContain('broke off its answer: overloaded_error: Overloaded');
    expect(sent).toHaveLength(1);
  });
});

describe('a refusal', () => {
  test('with 529 is retried, and a later answer is an answer', async () => {
    const overloaded = refusal(529, 'overloaded_error', 'Overloaded');
    serve(overloaded, overloaded, ok('at last'));
    expect(textOf(await ask())).toBe('at last');
    expect(sent).toHaveLength(3);
  });

  test('with 529 that persists is reported with the request’s id', async () => {
    const overloaded = refusal(529, 'overloaded_error', 'Overloaded');
    serve(overloaded, overloaded, overloaded);
    const error = (await failureOf()) as TeddyError;
    expect(error.message).toBe(
      'The model server at https://api.anthropic.com answered 529 (request req_011): Overloaded',
    );
  });

  test('with 429 names the time to wait, from Retry-After or the exhausted limit', async () => {
    const limited = (headers: Record<string, string>) => refusal(429, 'rate_limit_error', 'slow down', headers);
    serve(limited({ 'retry-after': '17' }));
    const waits: string[] = [];
    const stopping = new AbortController();
    const onWait = (text: string) => {
      waits.push(text);
      stopping.abort();
    };
    await ask({ signal: stopping.signal }, { onWait }).catch(() => null);
    expect(waits[0]).toContain('answered 429; waiting 17 s, as it asks');
    const reset = new Date(Date.now() + 3_600_000).toISOString();
    serve(
      limited({
        'anthropic-ratelimit-requests-remaining': '3',
        'anthropic-ratelimit-requests-reset': new Date(Date.now() + 1000).toISOString(),
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': reset,
      }),
    );
    const error = (await failureOf()) as TeddyError;
    expect(error).toMatchObject({
      code: 'MODEL_RATE_LIMIT',
      hint: expect.stringMatching(/^Wait (?:3600|3599) s/) as string,
    });
  });

  test.each([
    [401, 'authentication_error', 'invalid x-api-key', 'MODEL_AUTH', /ANTHROPIC_API_KEY/],
    [404, 'not_found_error', 'model: claude-9', 'MODEL_NOT_FOUND', /teddy models.*ANTHROPIC_BASE_URL/],
    [400, 'invalid_request_error', 'prompt is too long: 9 > 8 maximum', 'MODEL_OVERFLOW', /teddy\.contextTokens/],
    [413, 'request_too_large', 'Request exceeds the maximum size', 'MODEL_OVERFLOW', /teddy\.contextTokens/],
  ])('%i %s', async (status, type, message, code, hint) => {
    serve(refusal(status, type, message));
    expect(await failureOf()).toMatchObject({ code, hint: expect.stringMatching(hint) as string });
    expect(sent).toHaveLength(1);
  });
});
