/** Answers in one JSON document, and other data that servers send instead of an answer. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { TeddyError } from '../../src/errors.ts';
import { parseEndpoint } from '../../src/model/endpoint.ts';
import { openaiModel } from '../../src/model/openai.ts';
import { listModels } from '../../src/model/served-models.ts';
import type { ModelRequest } from '../../src/ports/model.ts';
import { collect, requestOf, textOf } from '../support/ask-model.ts';
import { startModelServer, type ModelServer, type ServerAnswer } from '../support/model-server.ts';
import { startWait } from '../support/wait.ts';
import { stubRequests } from '../support/stub-requests.ts';

let server: ModelServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(...answers: ServerAnswer[]): Promise<string> {
  server = await startModelServer({ answers });
  return server.url;
}

const delays = { retryDelayMs: 1, rateDelayMs: 1 };
const modelAt = (baseUrl: string, isStreamed = true) =>
  openaiModel({ apiKey: 'sk-test-0123456789', baseUrl, model: 'gpt-test', isStreamed, ...delays });

async function failureWith(answers: ServerAnswer[], request: Partial<ModelRequest> = {}): Promise<TeddyError> {
  const failed = await collect(modelAt(await serve(...answers)).answer(requestOf(request))).catch(
    (error: unknown) => error,
  );
  return failed as TeddyError;
}

const json = (value: unknown, contentType = 'application/json'): ServerAnswer => ({
  raw: [typeof value === 'string' ? value : JSON.stringify(value)],
  contentType,
});
const completion = (message: object, rest: object = {}) => ({
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...rest }],
  usage: { prompt_tokens: 12, completion_tokens: 3 },
});

describe('an answer that is not streamed', () => {
  test('is requested as one document, and arrives as the same events', async () => {
    const url = await serve({ text: 'Grüße 🧸\n', usage: { prompt_tokens: 12, completion_tokens: 3 } }, 'Grüße 🧸\n');
    const events = await collect(modelAt(url, false).answer(requestOf()));
    expect(events).toEqual([
      { type: 'text', text: 'Grüße 🧸\n' },
      { type: 'usage', inputTokens: 12, outputTokens: 3 },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(server?.requests()[0]?.body).toMatchObject({ stream: false });
    expect(server?.requests()[0]?.body).not.toHaveProperty('stream_options');
    await collect(modelAt(url).answer(requestOf()));
    expect(server?.requests()[1]?.body).toMatchObject({ stream: true });
  });

  test('is retried like any other', async () => {
    const url = await serve({ status: 500 }, { status: 429, headers: {} }, 'at last');
    expect(textOf(await collect(modelAt(url, false).answer(requestOf())))).toBe('at last');
  });

  test('is understood if a stream was requested, with its calls', async () => {
    const calls = [
      { id: 'a', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } },
      { id: 'b', type: 'function', function: { name: 'read_file', arguments: '{"path":"b"}' } },
    ];
    const whole = completion({ content: 'I look.', tool_calls: calls }, { finish_reason: 'tool_calls' });
    const url = await serve(json(whole, 'application/json; charset=utf-8'));
    const tools = [{ name: 'read_file', description: '', parameters: {} }];
    expect(await collect(modelAt(url).answer(requestOf({ tools })))).toEqual([
      { type: 'text', text: 'I look.' },
      { type: 'tool_call', id: 'a', name: 'read_file', arguments: '{"path":"a"}' },
      { type: 'tool_call', id: 'b', name: 'read_file', arguments: '{"path":"b"}' },
      { type: 'usage', inputTokens: 12, outputTokens: 3 },
      { type: 'finish', reason: 'tool_calls' },
    ]);
  });

  test('that was cut at its limit reports it', async () => {
    const url = await serve(json(completion({ content: 'half' }, { finish_reason: 'length' })));
    expect((await collect(modelAt(url).answer(requestOf()))).at(-1)).toEqual({ type: 'finish', reason: 'length' });
  });

  test('is taken from a stream if the server streams anyway', async () => {
    const chunk = { choices: [{ delta: { content: 'all the same' }, finish_reason: 'stop' }] };
    const url = await serve({ raw: [`data: ${JSON.stringify(chunk)}\n\n`] });
    expect(textOf(await collect(modelAt(url, false).answer(requestOf())))).toBe('all the same');
  });
});

describe('anything but an answer is named as what it is', () => {
  test.each([
    [
      json('<!doctype html><title>Sign in</title><style>p{}</style><p>Please &amp; now', 'text/html; charset=utf-8'),
      '200 (text/html; charset=utf-8) with an HTML page that begins "Sign in Please &amp; now"',
    ],
    [
      json('{"status":"ok"}'),
      '200 (application/json) with JSON that contains no answer and that begins "{\\"status\\":\\"ok\\"}"',
    ],
    [
      json('{"choices":[oops'),
      '200 (application/json) with text that is not JSON and that begins "{\\"choices\\":[oops"',
    ],
    [json(''), '200 (application/json) with nothing at all'],
    [{ raw: [] }, '200 (text/event-stream) with nothing at all'],
  ] as [ServerAnswer, string][])('%j', async (answer, words) => {
    const error = await failureWith([answer]);
    expect(error.code).toBe('MODEL_FAILED');
    expect(error.message).toBe(`No model has answered: ${server?.url}/chat/completions answered ${words}.`);
    expect(error.hint).toContain('OPENAI_BASE_URL');
    expect(server?.requests()).toHaveLength(1);
  });

  test('an error instead of an answer, with a success status', async () => {
    const error = await failureWith([json({ error: { message: 'no such engine' } })]);
    expect(error.message).toContain('no such engine');
  });

  test('a page with a failure status', async () => {
    const page = '<html><head><title>404 Not Found</title></head><body>nginx';
    const error = await failureWith([{ status: 404, headers: { 'content-type': 'text/html' }, body: page }]);
    expect(error.message).toMatch(
      /answered 404 \(request \S+\): an HTML page \(text\/html\) that begins "404 Not Found nginx"$/,
    );
    expect(error.hint).toContain(`${server?.url}/chat/completions was asked for gpt-test`);
  });

  test('an empty 404 names the request and its address', async () => {
    const error = await failureWith([{ status: 404, headers: {}, body: '' }]);
    expect(error).toMatchObject({ code: 'MODEL_NOT_FOUND' });
    expect(error.hint).toMatch(/chat\/completions was asked for gpt-test: check teddy\.model .*OPENAI_BASE_URL/);
  });
});

describe('a key that the server repeats', () => {
  const long = `sk-proj-${'0123456789abcdef'.repeat(10)}`;
  const quoted = 'sk-"0123\\456789"';
  const page = 'text/html';
  const pages = [long, quoted].flatMap((key): [string, ServerAnswer][] => [
    [key, json(`<p>Unknown key ${key}`, page)],
    [key, { status: 401, headers: { 'content-type': page }, body: `<p>Unknown key ${key}` }],
    [key, json(`Unknown key ${key}`)],
    [key, json({ detail: `Unknown key ${key}` })],
    [key, { status: 401, headers: {}, body: JSON.stringify({ error: { message: `Unknown key ${key}` } }) }],
    [key, { raw: [`data: ${JSON.stringify({ error: { unknown: key } })}\n\n`] }],
    [key, { status: 302, headers: { location: `http://elsewhere.example/${key}` } }],
  ]);

  test.each(pages)('%s is in no part of the error about %j', async (apiKey, answer) => {
    const model = openaiModel({ apiKey, baseUrl: await serve(answer), model: 'gpt-test', ...delays });
    const failed = await collect(model.answer(requestOf())).catch((error: unknown) => error);
    const { message, hint, code } = failed as TeddyError;
    expect(code).toMatch(/^MODEL_/);
    expect(`${message} ${hint}`).not.toMatch(/0123|sk-/);
    expect(message).toMatch(/\[API(?: |%20)key\]/);
  });

  test.each([long, quoted])('%s is in no part of the error about a list of models', async (apiKey) => {
    stubRequests(async () => new Response(`<p>Unknown key ${apiKey}`));
    const failed = await listModels(parseEndpoint({ baseUrl: 'http://host/v1', apiKey })).catch(String);
    vi.restoreAllMocks();
    expect(failed).toContain('that begins "Unknown key [API key]"');
  });
});

describe('a request that is too long', () => {
  const log = [
    '<!-- teddy-7f3a91c2 memos -->\nshort\n',
    '<!-- teddy-7f3a91c2 history -->\nsome words of before\n',
    `<!-- teddy-7f3a91c2 file "src/a b.ts" blob 0123 -->\n${'large words '.repeat(20_000)}\n`,
    '<!-- teddy-7f3a91c2 message -->\nDo it',
  ].join('');
  const messages: ModelRequest['messages'] = [
    { role: 'system', content: 'You plan.' },
    { role: 'user', content: log },
  ];

  test.each([
    [400, { code: 'context_length_exceeded', message: 'whatever' }],
    [400, { message: "This model's maximum context length is 8192 tokens." }],
    [400, { message: 'prompt is too long: 210000 tokens > 200000 maximum' }],
    [400, { type: 'exceed_context_size_error', message: 'the request exceeds the available context size' }],
    [400, { message: 'The input token count (9000) exceeds the maximum number of tokens allowed (8192).' }],
    [413, { message: 'Request exceeds the maximum size' }],
  ])('%i %j names the budget and the largest sections', async (status, body) => {
    const error = await failureWith([{ status, body }], { messages });
    expect(error.code).toBe('MODEL_OVERFLOW');
    expect(error.message).toMatch(/The largest: "src\/a b\.ts" \(about [\d,]+\), /);
    expect(error.message).toContain(`answered ${status}`);
    expect(error.hint).toMatch(/`git config teddy\.contextTokens \d+000`/);
    expect(error.hint).not.toContain('tries again');
    expect(server?.requests()).toHaveLength(1);
  });

  test('does not include an answer that is too long', async () => {
    const body = { message: 'max_tokens is too large: 99999. This model supports at most 4096 completion tokens.' };
    expect((await failureWith([{ status: 400, body }])).code).toBe('MODEL_FAILED');
  });
});

describe('429 without Retry-After', () => {
  const limited: ServerAnswer = { status: 429, headers: {} };

  test('waits longer than other failures, and names the time', async () => {
    const waits: string[] = [];
    const abort = new AbortController();
    const url = await serve(limited, 'too early');
    const model = openaiModel({
      apiKey: '',
      baseUrl: url,
      model: 'm',
      onWait: (text) => (waits.push(text), abort.abort()),
    });
    const wait = startWait(7000);
    await expect(collect(model.answer(requestOf({ signal: abort.signal })))).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
    expect(wait.isOver()).toBe(false);
    expect(waits).toEqual([
      expect.stringMatching(/at http\S+ answered 429; waiting (?:8|9|10) s, then trying again \(2 of 3\)\.$/),
    ]);
    expect(server?.requests()).toHaveLength(1);
  });

  test('is not retried if no credit is left', async () => {
    const error = await failureWith([
      { status: 429, headers: {}, body: { message: 'quota', code: 'insufficient_quota' } },
    ]);
    expect(error).toMatchObject({ code: 'MODEL_RATE_LIMIT', hint: expect.stringContaining('no credit') as string });
    expect(server?.requests()).toHaveLength(1);
  });
});
