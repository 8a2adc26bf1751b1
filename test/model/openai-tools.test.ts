/** Tools: those that a model is offered, and those that it calls, however a server streams them. */
import { afterEach, describe, expect, test } from 'vitest';
import { openaiModel } from '../../src/model/openai.ts';
import type { Model, ModelEvent, ModelRequest, ModelTool } from '../../src/ports/model.ts';
import { collect, requestOf, textOf } from '../support/ask-model.ts';
import { startModelServer, type ModelServer, type ServerAnswer } from '../support/model-server.ts';

const tools: ModelTool[] = [
  {
    name: 'look_up',
    description: 'Looks something up.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  },
];

let server: ModelServer | undefined;

afterEach(() => server?.close());

async function serve(answer: ServerAnswer, chunkSize = 16): Promise<Model> {
  await server?.close();
  server = await startModelServer({ answers: [answer], chunkSize });
  return openaiModel({ apiKey: 'sk-test-0123456789', baseUrl: server.url, model: 'gpt-test', retryDelayMs: 1 });
}

async function ask(answer: ServerAnswer, request: Partial<ModelRequest> = {}, chunkSize = 16): Promise<ModelEvent[]> {
  return collect((await serve(answer, chunkSize)).answer(requestOf({ tools, ...request })));
}

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const calls = (...pieces: object[]) => chunk({ tool_calls: pieces });
const called = (name: string, text: unknown) => ({ type: 'function', function: { name, arguments: text } });
const piece = (text: unknown) => ({ function: { arguments: text } });
const end = (reason = 'tool_calls') => `${chunk({}, reason)}data: [DONE]\n\n`;
const callsOf = (events: ModelEvent[]) =>
  events.flatMap((event) => (event.type === 'tool_call' ? [[event.id, event.name, event.arguments]] : []));
const askRaw = async (...raw: string[]) => callsOf(await ask({ raw }));

describe('a request', () => {
  test('offers its tools, and one without tools has no field that mentions them', async () => {
    await ask('hi');
    expect(server?.requests()[0]?.body['tools']).toEqual([{ type: 'function', function: tools[0] }]);
    await collect((await serve('hi')).answer(requestOf()));
    expect(Object.keys(server?.requests()[0]?.body ?? {})).toEqual(['model', 'messages', 'stream', 'stream_options']);
  });

  test('has the calls and their results in the API’s form', async () => {
    const call = { id: 'call_a', name: 'look_up', arguments: '{"word":"tree"}' };
    await ask('hi', {
      messages: [
        { role: 'user', content: 'What is a tree?' },
        { role: 'assistant', content: '', toolCalls: [call] },
        { role: 'tool', toolCallId: 'call_a', content: 'A plant.' },
        { role: 'assistant', content: 'And now', toolCalls: [{ ...call, id: 'call_b' }] },
        { role: 'tool', toolCallId: 'call_b', content: 'Again.' },
        { role: 'assistant', content: 'A plant.' },
      ],
    });
    const inApi = { type: 'function', function: { name: 'look_up', arguments: '{"word":"tree"}' } };
    expect(server?.requests()[0]?.messages).toEqual([
      { role: 'user', content: 'What is a tree?' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_a', ...inApi }] },
      { role: 'tool', tool_call_id: 'call_a', content: 'A plant.' },
      { role: 'assistant', content: 'And now', tool_calls: [{ id: 'call_b', ...inApi }] },
      { role: 'tool', tool_call_id: 'call_b', content: 'Again.' },
      { role: 'assistant', content: 'A plant.' },
    ]);
  });
});

describe('an answer', () => {
  test('yields its text, then each complete call, then the reason for its end, wherever its pieces are cut', async () => {
    const toolCalls = [
      { id: 'call_a', name: 'look_up', arguments: '{"word":"tree 🧸 \\"quoted\\""}' },
      { id: 'call_b', name: 'look_up', arguments: '{"word":"leaf"}' },
    ];
    for (const chunkSize of [1, 3, 100]) {
      const events = await ask({ text: 'I look.', toolCalls }, {}, chunkSize);
      expect(textOf(events)).toBe('I look.');
      expect(events.filter(({ type }) => type !== 'text' && type !== 'usage')).toEqual([
        ...toolCalls.map((call) => ({ type: 'tool_call', ...call })),
        { type: 'finish', reason: 'tool_calls' },
      ]);
    }
  });

  test('to a request without tools calls nothing, whatever the server sends', async () => {
    const raw = [calls({ index: 0, id: 'call_a', ...called('look_up', '{}') }), end()];
    const events = await collect((await serve({ raw })).answer(requestOf()));
    expect(events).toEqual([{ type: 'finish', reason: 'stop' }]);
  });

  test('that is cut in the middle of a call yields no call', async () => {
    const raw = [chunk({ content: 'so far' }), calls({ index: 0, id: 'call_a', ...called('look_up', '{"wo') })];
    const events: ModelEvent[] = [];
    const model = await serve({ raw, destroy: true });
    const reading = (async () => {
      for await (const event of model.answer(requestOf({ tools }))) events.push(event);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'MODEL_INTERRUPTED' });
    expect(events).toEqual([{ type: 'text', text: 'so far' }]);
  });

  test('that reached its limit in the middle of a call reports it, with the partial call', async () => {
    const raw = [calls({ index: 0, id: 'call_a', ...called('look_up', '{"wo') }), end('length')];
    expect(await ask({ raw })).toEqual([
      { type: 'tool_call', id: 'call_a', name: 'look_up', arguments: '{"wo' },
      { type: 'finish', reason: 'length' },
    ]);
  });

  test('waits for results exactly if it calls, whatever its finish reason', async () => {
    const call = calls({ index: 0, id: 'call_a', ...called('look_up', '{}') });
    for (const [raw, reason] of [
      [[call, end('stop')], 'tool_calls'],
      [[call, 'data: [DONE]\n\n'], 'tool_calls'],
      [[chunk({ content: 'no call' }), end('tool_calls')], 'stop'],
    ] as const) {
      expect((await ask({ raw: [...raw] })).at(-1)).toEqual({ type: 'finish', reason });
    }
  });
});

describe('a server may', () => {
  test('mix the pieces of several calls, by their index', async () => {
    const found = await askRaw(
      calls({ index: 0, id: 'a', ...called('look_up', '') }, { index: 1, id: 'b', ...called('look_up', '{"wo') }),
      calls({ index: 1, ...piece('rd":"b"}') }),
      calls({ index: 0, ...piece('{"word":"a"}') }),
      end(),
    );
    expect(found).toEqual([
      ['a', 'look_up', '{"word":"a"}'],
      ['b', 'look_up', '{"word":"b"}'],
    ]);
  });

  test('leave out ids, or repeat one: each call gets its own', async () => {
    const found = await askRaw(
      calls({ index: 0, id: null, ...called('look_up', '{"word":"a"}') }),
      calls({ index: 1, id: '', ...called('look_up', '{"word":"b"}') }),
      calls({ index: 2, id: 'call_1', ...called('look_up', '{"word":"c"}') }),
      calls({ index: 3, id: 'call_1', ...called('look_up', '{"word":"d"}') }),
      end(),
    );
    expect(new Set(found.map(([id]) => id)).size).toBe(4);
    expect(found.map((call) => call[2])).toEqual(['a', 'b', 'c', 'd'].map((word) => `{"word":"${word}"}`));
  });

  test('leave the index out', async () => {
    const found = await askRaw(
      calls({ id: 'a', ...called('look_up', '{"wo') }),
      calls(piece('rd":"a"}')),
      calls({ id: 'b', ...called('look_up', '{"word":') }),
      calls({ id: 'b', ...piece('"b"}') }),
      calls(called('look_up', '{"word":"c"}')),
      end(),
    );
    expect(found.map((call) => call[2])).toEqual(['a', 'b', 'c'].map((word) => `{"word":"${word}"}`));
  });

  test('give all calls the same index, with separate ids', async () => {
    const found = await askRaw(
      calls({ index: 0, id: 'a', ...called('look_up', '{"word":"a"}') }),
      calls({ index: 0, id: 'b', ...called('look_up', '{"word":') }),
      calls({ index: 0, ...piece('"b"}') }),
      end(),
    );
    expect(found).toEqual([
      ['a', 'look_up', '{"word":"a"}'],
      ['b', 'look_up', '{"word":"b"}'],
    ]);
  });

  test('repeat id and name in each piece, and send the arguments as an object', async () => {
    const found = await askRaw(
      calls({ index: 0, id: 'a', ...called('look_up', '{"word"') }),
      calls({ index: 0, id: 'a', ...called('look_up', ':"a"}') }),
      calls({ index: 1, id: 'b', ...called('look_up', { word: 'b' }) }),
      end(),
    );
    expect(found).toEqual([
      ['a', 'look_up', '{"word":"a"}'],
      ['b', 'look_up', '{"word":"b"}'],
    ]);
  });

  test('send invalid calls: without a name, as null, as a word', async () => {
    const broken = ['null', '"word"', '{}', '[null]', '[1,{"index":"0"}]', '[{"function":null}]'];
    const raw = broken.map((value) => `data: {"choices":[{"delta":{"tool_calls":${value}}}]}\n\n`);
    expect(await ask({ raw: [...raw, end('stop')] })).toEqual([{ type: 'finish', reason: 'stop' }]);
  });
});

test('the hint in a failure explains how to repeat this request', async () => {
  const again = '`teddy write ask -m ...` asks again.';
  await expect(ask({ status: 400 }, { again })).rejects.toMatchObject({
    hint: `The connection works, but the server rejected the request; ${again}`,
  });
  await expect(ask('hi', { again, signal: AbortSignal.abort() })).rejects.toMatchObject({ hint: again });
});
