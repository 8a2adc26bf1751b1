/** Servers that refuse a field by its name, and are asked again without it. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { anthropicModel } from '../../src/model/anthropic.ts';
import { openaiModel } from '../../src/model/openai.ts';
import type { RefusedFields } from '../../src/model/wire.ts';
import type { ModelRequest } from '../../src/ports/model.ts';
import { collect, requestOf, textOf } from '../support/ask-model.ts';

interface Refusal {
  status: number;
  body: object;
}
type Refuse = (sent: string) => Refusal | null;

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

/** Answers everything it does not refuse. */
async function serve(refuse: Refuse, answer: object) {
  const sent: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    sent.push(JSON.parse(body));
    const refusal = refuse(body);
    response.writeHead(refusal?.status ?? 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(refusal?.body ?? answer));
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, sent };
}

async function ask(refuse: Refuse, parameters: ModelRequest['parameters'] = {}, refused?: RefusedFields) {
  const { url: baseUrl, sent } = await serve(refuse, { choices: [{ message: { content: 'hi' } }] });
  const warnings: string[] = [];
  const options = { baseUrl, model: 'm', retryDelayMs: 1, refused };
  const model = openaiModel({ ...options, onWarning: (warning) => warnings.push(warning) });
  const answer = collect(model.answer(requestOf({ parameters }))).then(textOf);
  const failure = await answer.catch((error: unknown) => error);
  return { sent, warnings, failure };
}

const refusing =
  (name: string, words = `Unknown field: ${name}`, status = 400): Refuse =>
  (sent) =>
    sent.includes(`"${name}":`) ? { status, body: { error: { message: words } } } : null;

describe('a field that the server refuses is left out', () => {
  test.each([
    'Extra inputs are not permitted: stream_options',
    'Unrecognized request argument supplied: stream_options',
    'json: unknown field "stream_options"',
    "property 'stream_options' is unsupported",
    'Invalid JSON payload received. Unknown name "stream_options": Cannot find field.',
    'stream_options is not supported',
    "This model doesn't support stream_options.",
    'Additional properties are not allowed (stream_options was unexpected)',
  ])('%s', async (words) => {
    const { sent, failure, warnings } = await ask(refusing('stream_options', words, 422));
    expect(failure).toBe('hi');
    expect(sent.map((body) => 'stream_options' in body)).toEqual([true, false]);
    expect(warnings).toEqual([expect.stringContaining('was sent without stream_options, which')]);
  });

  test('if a validator names it outside its message', async () => {
    const detail = [
      { type: 'extra_forbidden', loc: ['body', 'reasoning_effort'], msg: 'Extra inputs are not permitted' },
    ];
    const refuse: Refuse = (sent) => (sent.includes('reasoning_effort') ? { status: 422, body: { detail } } : null);
    expect((await ask(refuse, { reasoning: 'low' })).failure).toBe('hi');
  });

  test('one after the other, and a limit gets its other name', async () => {
    const both: Refuse = (sent) => refusing('stream_options')(sent) ?? refusing('max_tokens')(sent);
    const { sent, failure } = await ask(both, { maxAnswerTokens: 900 });
    expect(failure).toBe('hi');
    expect(sent).toHaveLength(3);
    expect(sent[2]).toMatchObject({ max_completion_tokens: 900 });
    expect(sent[2]).not.toHaveProperty('max_tokens');
  });

  test('and is remembered once the server has answered', async () => {
    let known: string[] = [];
    const refused: RefusedFields = { read: async () => known, keep: async (names) => void (known = names) };
    await ask(refusing('stream_options'), {}, refused);
    expect(known).toEqual(['stream_options']);
    const again = await ask(refusing('stream_options'), {}, refused);
    expect(again).toMatchObject({ failure: 'hi', warnings: [] });
    expect(again.sent).toHaveLength(1);
  });

  test('in the other API, where cache marks are within the messages', async () => {
    const words = 'messages.0.content.0.text.cache_control: Extra inputs are not permitted';
    const answer = { type: 'message', content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn' };
    const { url: baseUrl, sent } = await serve(refusing('cache_control', words), answer);
    const model = anthropicModel({ baseUrl, model: 'm', retryDelayMs: 1 });
    const messages: ModelRequest['messages'] = [
      { role: 'system', content: 'You plan.' },
      { role: 'user', content: 'Do.' },
    ];
    expect(textOf(await collect(model.answer(requestOf({ messages }))))).toBe('hi');
    expect(sent.map((body) => JSON.stringify(body).includes('"cache_control":'))).toEqual([true, false]);
  });
});

describe('a refusal is reported unchanged', () => {
  test.each([
    ['for another field', 'Unknown field: temperature'],
    ['for a value', "Unsupported value: 'reasoning_effort' does not support 'low'. Supported values are: 'medium'."],
    ['that names a field without refusing it', 'max_tokens is too large: at most 8192 with reasoning_effort'],
  ])('%s', async (_what, words) => {
    const { sent, failure } = await ask(() => ({ status: 400, body: { message: words } }), {
      reasoning: 'low',
      maxAnswerTokens: 9000,
    });
    expect(failure).toMatchObject({ code: 'MODEL_FAILED' });
    expect(sent).toHaveLength(1);
  });

  test('if the server refuses the field that is no longer sent', async () => {
    const words = 'Unknown field: stream_options';
    const { sent, failure } = await ask(() => ({ status: 400, body: { message: words } }));
    expect(failure).toMatchObject({ code: 'MODEL_FAILED' });
    expect(sent).toHaveLength(2);
  });
});

test.each([
  { error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' } },
  { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: ab***yz.' },
  { error: { message: 'Bad request', details: [{ reason: 'API_KEY_INVALID' }] } },
])('a server’s 400 for a wrong key means the key: %j', async (body) => {
  for (const form of [body, [body]])
    expect((await ask(() => ({ status: 400, body: form }))).failure).toMatchObject({
      code: 'MODEL_AUTH',
      hint: expect.stringContaining('OPENAI_API_KEY'),
    });
});
