import { createServer } from 'node:net';
import { afterEach, describe, expect, vi } from 'vitest';
import type { TeddyError } from '../../src/errors.ts';
import { openaiModel } from '../../src/model/openai.ts';
import type { ModelEvent, ModelRequest } from '../../src/ports/model.ts';
import { collect, requestOf, textOf } from '../support/ask-model.ts';
import { startModelServer, type ModelServer, type ServerAnswer } from '../support/model-server.ts';
import { startWait } from '../support/wait.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';
import { stubRequests } from '../support/stub-requests.ts';

const apiKey = 'sk-secret-0123456789abcdef';
const messages: ModelRequest['messages'] = [
  { role: 'system', content: 'You plan.\n' },
  { role: 'user', content: '<!-- teddy-7f3a91c2 message -->\nGrüße 🧸\t"quoted"\r\nline two\u2028' },
];

let server: ModelServer | undefined;

afterEach(async () => {
  vi.unstubAllEnvs();
  await server?.close();
  server = undefined;
});

async function serve(
  answers: ServerAnswer[],
  pace: { chunkSize?: number; chunkDelayMs?: number } = {},
): Promise<ModelServer> {
  server = await startModelServer({ answers, ...pace });
  return server;
}

function modelAt(baseUrl: string, key = apiKey) {
  return openaiModel({ apiKey: key, baseUrl, model: 'gpt-test', retryDelayMs: 1 });
}

// The messages in these tests, unless a test brings its own.
const request = (overrides: Partial<ModelRequest> = {}) => requestOf({ messages, ...overrides });

async function failureOf(events: AsyncIterable<ModelEvent>): Promise<{ error: TeddyError; text: string }> {
  let text = '';
  try {
    for await (const event of events) text += event.type === 'text' ? event.text : '';
  } catch (error) {
    return { error: error as TeddyError, text };
  }
  throw new Error('The answer did not fail.');
}

async function failureWith(...answers: ServerAnswer[]) {
  const { url, requests } = await serve(answers);
  const { error } = await failureOf(modelAt(url).answer(request()));
  return { error, requests: requests().length, url };
}

const chunk = (choice: object, rest: object = {}) => `data: ${JSON.stringify({ choices: [choice], ...rest })}\n\n`;
const delta = (content: unknown, more: object = {}) => chunk({ delta: { content, ...more } });
const stop = chunk({ delta: {}, finish_reason: 'stop' });
const done = 'data: [DONE]\n\n';

async function answerTo(...raw: (string | Uint8Array)[]): Promise<ModelEvent[]> {
  return collect(modelAt((await serve([{ raw }])).url).answer(request()));
}

describe('an answer', () => {
  const text = '# Plan\n\n- 👩‍👩‍👧 emoji, äöü, 漢字,\ttabs, "quotes", \\n\r\n\u2028 and   spaces \n'.repeat(20);

  slowTest('arrives byte for byte, wherever the chunks are cut', async () => {
    for (const chunkSize of [1, 2, 7]) {
      const { url } = await serve([text], { chunkSize });
      const events = await collect(modelAt(url).answer(request()));
      expect(textOf(events)).toBe(text);
      await server?.close();
    }
  });

  slowTest('never has half a character in an event, so each event can be written separately', async () => {
    const { url } = await serve([text], { chunkSize: 1 });
    const events = await collect(modelAt(url).answer(request()));
    const written = Buffer.concat(events.map((event) => Buffer.from(event.type === 'text' ? event.text : '')));
    expect(written.toString()).toBe(text);
  });

  test("survives a read that ends within a character's bytes", async () => {
    const bytes = Buffer.from(delta('a🧸b') + stop + done);
    const middle = bytes.indexOf(0xf0) + 2;
    expect(textOf(await answerTo(bytes.subarray(0, middle), bytes.subarray(middle)))).toBe('a🧸b');
  });

  test('ends in usage and a finish reason', async () => {
    const { url } = await serve([{ text: 'hi', usage: { prompt_tokens: 12, completion_tokens: 3 } }]);
    const events = await collect(modelAt(url).answer(request()));
    expect(events).toEqual([
      { type: 'text', text: 'hi' },
      { type: 'usage', inputTokens: 12, outputTokens: 3 },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  test.each([
    ['stop', { reason: 'stop' }],
    ['length', { reason: 'length' }],
    ['content_filter', { reason: 'other', said: 'content_filter' }],
  ])('that ends because of %s reports it', async (finishReason, finish) => {
    const { url } = await serve([{ text: 'hi', finishReason }]);
    expect((await collect(modelAt(url).answer(request()))).at(-1)).toEqual({ type: 'finish', ...finish });
  });

  test.each([
    { error: { message: { detail: 'Why' } } },
    { error: 'Why' },
    { detail: 'Why' },
    { errors: [{ message: 'Why' }] },
    { type: 'error', message: 'Why' },
  ])('that breaks off with %j gives the reason', async (error) => {
    const url = (await serve([{ raw: [delta('a'), `data: ${JSON.stringify(error)}\n\n`, done] }])).url;
    expect(await failureOf(modelAt(url).answer(request()))).toMatchObject({
      text: 'a',
      error: { code: 'MODEL_FAILED', message: expect.stringMatching(/broke off its answer: Why$/) },
    });
  });

  test('that was ended badly stays so, whatever comes later', async () => {
    const filtered = chunk({ delta: { content: 'a' }, finish_reason: 'content_filter' });
    expect((await answerTo(filtered, stop, done)).at(-1)).toMatchObject({ reason: 'other', said: 'content_filter' });
  });

  test('may come in lists of parts: texts are its words, and anything but text and thoughts is named', async () => {
    const warnings: string[] = [];
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] };
    const raw = [
      delta([thinking, { type: 'text', text: 'one ' }]),
      delta([{ type: 'reference', reference_ids: [1] }, { type: 'text', text: 'two ' }, { type: 'image_url' }]),
      delta('three', { refusal: null }),
      chunk({ delta: { content: null, refusal: ' no' } }),
      stop,
    ];
    const { url } = await serve([{ raw }]);
    const model = openaiModel({ apiKey, baseUrl: url, model: 'm', onWarning: (text) => warnings.push(text) });
    const events = await collect(model.answer(request()));
    expect(textOf(events)).toBe('one two three no');
    expect(events).toContainEqual({ type: 'thought', text: 'hm' });
    expect(warnings).toEqual([expect.stringContaining('were left out: reference, image_url.')]);
  });

  test('leaves out the model’s reasoning', async () => {
    const { url } = await serve([{ text: 'answer', reasoning: 'hidden thought' }]);
    expect(textOf(await collect(modelAt(url).answer(request())))).toBe('answer');
  });
});

describe('a request', () => {
  test('has the messages unchanged, the parameters and nothing more', async () => {
    const { url, requests } = await serve(['hi']);
    await collect(modelAt(url).answer(request({ parameters: { temperature: 0.2, model: 'other', stream: false } })));
    expect(requests()).toHaveLength(1);
    expect(requests()[0]).toMatchObject({ path: '/v1/chat/completions', status: 200 });
    expect(requests()[0]?.body).toEqual({
      model: 'gpt-test',
      messages,
      temperature: 0.2,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('specifies how much to think and how long the answer may be, by the endpoint’s names', async () => {
    const { url, requests } = await serve(['hi']);
    await collect(modelAt(url).answer(request({ parameters: { reasoning: 'high', maxAnswerTokens: 900 } })));
    expect(requests()[0]?.body).toEqual({
      model: 'gpt-test',
      messages,
      reasoning_effort: 'high',
      max_tokens: 900,
      stream: true,
      stream_options: { include_usage: true },
    });
    const bodies: unknown[] = [];
    stubRequests(async (_url: string, init: { body: string }) => {
      bodies.push(JSON.parse(init.body));
      return new Response(delta('hi') + stop + done, { headers: { 'content-type': 'text/event-stream' } });
    });
    await collect(modelAt('').answer(request({ parameters: { maxAnswerTokens: 900 } })));
    vi.restoreAllMocks();
    expect(bodies).toEqual([expect.objectContaining({ max_completion_tokens: 900 })]);
    expect(bodies[0]).not.toHaveProperty('max_tokens');
  });

  test('sends the key, but no data about the machine or its environment', async () => {
    const other = await startModelServer({ answers: ['from the wrong server'] });
    vi.stubEnv('OPENAI_BASE_URL', other.url);
    vi.stubEnv('OPENAI_API_KEY', 'sk-of-the-environment');
    vi.stubEnv('OPENAI_ADMIN_KEY', 'sk-admin');
    vi.stubEnv('OPENAI_ORG_ID', 'org-leak');
    vi.stubEnv('OPENAI_PROJECT_ID', 'proj-leak');
    vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'X-Leak: leaked');
    vi.stubEnv('OPENAI_LOG', 'debug');
    const printed = vi.spyOn(console, 'debug').mockImplementation(() => {});
    const { url, requests } = await serve(['hi']);
    await collect(modelAt(url).answer(request()));
    const received = requests()[0]?.headers ?? {};
    expect(other.requests()).toEqual([]);
    await other.close();
    expect(received['authorization']).toBe(`Bearer ${apiKey}`);
    expect(JSON.stringify(received)).not.toMatch(/leak|stainless|environment|admin/i);
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });

  test('without a key has no Authorization header, whatever the environment', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'sk-of-the-environment');
    const { url, requests } = await serve(['hi']);
    await collect(openaiModel({ apiKey: undefined, baseUrl: `${url}/`, model: 'local' }).answer(request()));
    expect(requests()[0]?.headers['authorization']).toBeUndefined();
  });

  test('names its endpoint without the slash that a base URL may end in', () => {
    expect(modelAt('http://localhost:8080/v1/').label).toBe('gpt-test at http://localhost:8080/v1');
  });

  test('goes to OpenAI when no base URL is set, even if the environment names another', () => {
    vi.stubEnv('OPENAI_BASE_URL', 'http://127.0.0.1:1/v1');
    const labels = ['', undefined].map((baseUrl) => openaiModel({ apiKey, baseUrl, model: 'gpt-5' }).label);
    expect(labels).toEqual(Array(2).fill('gpt-5 at https://api.openai.com/v1'));
  });

  test.each(['not a url', 'ftp://host/v1', 'https://user:hunter2@host/v1', 'https://host/v1?key=hunter2'])(
    'is not even tried with the base URL %s, which is not repeated',
    (baseUrl) => {
      expect(() => modelAt(baseUrl)).toThrow(expect.objectContaining({ code: 'BAD_SETTING' }));
      expect(() => modelAt(baseUrl)).not.toThrow(/hunter2/);
    },
  );

  test('is not even tried with a key that no header can carry, which is not repeated', () => {
    expect(() => modelAt('', 'sk-one\nsk-two')).toThrow(expect.objectContaining({ code: 'BAD_SETTING' }));
    expect(() => modelAt('', 'sk-one\nsk-two')).not.toThrow(/sk-/);
  });
});

describe('a server may', () => {
  test('send neither usage nor role, comments to keep the connection, null contents and chunks without choices', async () => {
    const events = await answerTo(
      ': keep-alive\n\n',
      'data: null\n\n',
      'data: {}\n\n',
      'data: {"choices":[]}\n\n',
      chunk({}),
      chunk({ delta: null }),
      delta(null, { reasoning: 'thought', reasoning_content: 'thought' }),
      ': keep-alive\r\n\r\n',
      delta('hello'),
      stop,
      done,
    );
    expect(events).toEqual([
      { type: 'text', text: 'hello' },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  test('report its cost, which counts only if it is a number', async () => {
    for (const [cost, told] of [
      [0.0123, { costUsd: 0.0123 }],
      ['0.0123', {}],
      [null, {}],
    ] as const) {
      const usage = { usage: { prompt_tokens: 5, completion_tokens: 2, cost } };
      const events = await answerTo(delta('a'), chunk({ finish_reason: 'stop' }, usage), done);
      expect(events.at(-2)).toEqual({ type: 'usage', inputTokens: 5, outputTokens: 2, ...told });
      await server?.close();
    }
  });

  test('repeat its usage: the last one counts', async () => {
    const usage = (tokens: number) => ({ usage: { prompt_tokens: 5, completion_tokens: tokens } });
    const events = await answerTo(
      chunk({ delta: { content: 'a' } }, usage(1)),
      chunk({ finish_reason: 'stop' }, usage(2)),
      chunk({ delta: {} }, { usage: null }),
    );
    expect(events.slice(1)).toEqual([
      { type: 'usage', inputTokens: 5, outputTokens: 2 },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  test('give a finish reason and no [DONE], or [DONE] and no finish reason', async () => {
    expect((await answerTo(delta('a'), stop)).at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    await server?.close();
    expect((await answerTo(delta('a'), 'data: [DO', 'NE]\n\n')).at(-1)).toEqual({ type: 'finish', reason: 'stop' });
  });

  test('drop the connection after the finish reason: the answer is complete', async () => {
    const { url } = await serve([{ raw: [delta('whole'), stop], destroy: true }]);
    expect(textOf(await collect(modelAt(url).answer(request())))).toBe('whole');
  });
});

describe('a server error', () => {
  test.each([
    [400, 'MODEL_FAILED', 1],
    [401, 'MODEL_AUTH', 1],
    [403, 'MODEL_AUTH', 1],
    [404, 'MODEL_NOT_FOUND', 1],
    [408, 'MODEL_FAILED', 1],
    [409, 'MODEL_FAILED', 1],
    [422, 'MODEL_FAILED', 1],
    [500, 'MODEL_FAILED', 3],
    [503, 'MODEL_FAILED', 3],
  ])('%i is %s after %i request(s)', async (status, code, count) => {
    const { error, requests, url } = await failureWith(...Array<ServerAnswer>(4).fill({ status }));
    expect({ code: error.code, requests }).toEqual({ code, requests: count });
    expect(error.message).toMatch(new RegExp(`at ${url} answered ${status} \\(request [\\w-]+\\): The server failed`));
    expect(error.hint).toContain('`teddy plan` without -m tries again; the message is kept.');
  });

  test('is retried until it is over: two failures, then the answer', async () => {
    const { url, requests } = await serve([{ status: 500 }, { status: 502 }, 'at last']);
    expect(textOf(await collect(modelAt(url).answer(request())))).toBe('at last');
    expect(requests().map(({ status }) => status)).toEqual([500, 502, 200]);
  });

  test('429 is MODEL_RATE_LIMIT after three requests, with the last response’s delay', async () => {
    const soon = { status: 429, headers: { 'retry-after': '0' } };
    const { error, requests } = await failureWith(soon, soon, { status: 429, headers: { 'retry-after': '17' } });
    expect(error.code).toBe('MODEL_RATE_LIMIT');
    expect(error.hint).toContain('Wait 17 s');
    expect(requests).toBe(3);
  });

  slowTest('429 is not retried before its Retry-After has passed', async () => {
    const { url } = await serve([{ status: 429 }, 'hi']);
    const wait = startWait(900);
    await collect(modelAt(url).answer(request()));
    expect(wait.isOver()).toBe(true);
  });

  test('is not retried if it asks for more than a minute', async () => {
    const { error, requests } = await failureWith({ status: 503, headers: { 'retry-after': '3600' } }, 'too early');
    expect({ code: error.code, requests }).toEqual({ code: 'MODEL_FAILED', requests: 1 });
  });

  test.each([
    ['{"error":{"message":"of OpenAI"}}', 'of OpenAI'],
    ['{"error":"of Ollama"}', 'of Ollama'],
    ['{"object":"error","message":"of vLLM"}', 'of vLLM'],
    ['{"detail":"of FastAPI"}', 'of FastAPI'],
    ['<html>\n<h1>Bad\u001b[31m\u202e Gateway</h1>', '<html> <h1>Bad [31m Gateway</h1>'],
    ['', 'no message'],
    ['x'.repeat(500), `${'x'.repeat(300)}...`],
  ])('shows the message of %j on one line', async (body, shown) => {
    const { error } = await failureWith({ status: 400, body });
    expect(error.message.split('): ')[1]).toBe(shown);
  });

  test('never shows the API key, even if the server repeats it', async () => {
    const message = `${'x'.repeat(290)} Incorrect API key: ${apiKey}, Bearer ${apiKey}`;
    const { error } = await failureWith({ status: 401, body: { message }, headers: { 'x-request-id': apiKey } });
    expect(`${error.message} ${error.hint} ${error.stack}`).not.toContain(apiKey.slice(0, 6));
    expect(error.cause).toBeUndefined();
  });

  test('in mid-stream is MODEL_FAILED with its message, and not retried', async () => {
    const { url, requests } = await serve([
      { raw: [delta('so far'), 'data: {"error":{"message":"overloaded"}}\n\n'] },
      'no',
    ]);
    const { error, text } = await failureOf(modelAt(url).answer(request()));
    expect({ code: error.code, text, requests: requests().length }).toEqual({
      code: 'MODEL_FAILED',
      text: 'so far',
      requests: 1,
    });
    expect(error.message).toBe(`The model server at ${url} broke off its answer: overloaded`);
  });

  test('that is not an event is MODEL_FAILED, and prints nothing', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { error } = await failureWith({ raw: ['data: {"choices":[oops\n\n'] });
    expect(error.code).toBe('MODEL_FAILED');
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });
});

describe('a connection', () => {
  test('that is refused is MODEL_UNREACHABLE with the reason', async () => {
    const { url } = await serve([]);
    await server?.close();
    const { error } = await failureOf(modelAt(url).answer(request()));
    expect(error.code).toBe('MODEL_UNREACHABLE');
    const { host } = new URL(url);
    expect(error.message).toBe(`The model server at ${url} cannot be reached: connect ECONNREFUSED ${host}`);
  });

  test('that fails before an answer is tried three times', async () => {
    let connections = 0;
    const slammed = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => slammed.listen(0, '127.0.0.1', resolve));
    const { port } = slammed.address() as { port: number };
    const { error } = await failureOf(modelAt(`http://127.0.0.1:${port}/v1`).answer(request()));
    slammed.close();
    expect({ code: error.code, connections }).toEqual({ code: 'MODEL_UNREACHABLE', connections: 3 });
  });

  test('that is cut in mid-answer is MODEL_INTERRUPTED, keeps the received part, and is not retried', async () => {
    const { url, requests } = await serve([{ cutAfter: 3, text: 'abcdefghijklmnop' }, 'again'], { chunkSize: 2 });
    const { error, text } = await failureOf(modelAt(url).answer(request()));
    expect({ code: error.code, text, requests: requests().length }).toEqual({
      code: 'MODEL_INTERRUPTED',
      text: 'abcdef',
      requests: 1,
    });
  });

  test('that ends properly, but without finish reason and [DONE], is MODEL_INTERRUPTED', async () => {
    const { error, requests } = await failureWith({ raw: [delta('data: [DONE]\n\n')] }, 'again');
    expect({ code: error.code, requests }).toEqual({ code: 'MODEL_INTERRUPTED', requests: 1 });
  });
});

describe('a signal', () => {
  test('stops a slow answer immediately, with the part received until then', async () => {
    const { url } = await serve(['abcdefgh'.repeat(10_000)], { chunkSize: 8, chunkDelayMs: 50 });
    const abort = new AbortController();
    let text = '';
    const reading = (async () => {
      for await (const event of modelAt(url).answer(request({ signal: abort.signal }))) {
        text += event.type === 'text' ? event.text : '';
        if (text.length >= 16) abort.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(text).toBe('abcdefgh'.repeat(2));
  });

  test('stops the wait for a retry immediately', async () => {
    const { url, requests, waitForRequests } = await serve([{ status: 429, headers: { 'retry-after': '30' } }, 'no']);
    const abort = new AbortController();
    const failed = failureOf(modelAt(url).answer(request({ signal: abort.signal })));
    await waitForRequests(1);
    const wait = startWait(30_000);
    abort.abort();
    expect((await failed).error.code).toBe('INTERRUPTED');
    expect(wait.isOver()).toBe(false);
    expect(requests()).toHaveLength(1);
  });

  test('that was sent before sends nothing', async () => {
    const { url, requests } = await serve(['hi']);
    const { error } = await failureOf(modelAt(url).answer(request({ signal: AbortSignal.abort() })));
    expect(error.code).toBe('INTERRUPTED');
    expect(requests()).toEqual([]);
  });
});
