/** Recorded streams in both APIs, complete and cut at any byte. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, vi } from 'vitest';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { anthropicModel } from '../../src/model/anthropic.ts';
import { openaiModel } from '../../src/model/openai.ts';
import type { Model, ModelEvent } from '../../src/ports/model.ts';
import { given } from '../support/given.ts';
import { collect, requestOf, textOf } from '../support/ask-model.ts';
import { line, say, session } from '../support/turns.ts';
import { stubRequests } from '../support/stub-requests.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const dir = fileURLToPath(new URL('../../fixtures/streams', import.meta.url));
const names = readdirSync(dir);
const read = (name: string) => readFileSync(join(dir, name));
const tools = [{ name: 'read_file', description: '', parameters: {} }];

afterEach(() => vi.restoreAllMocks());

/** Answers every request with these bytes, in two reads, and then ends or breaks. */
function serve(bytes: Uint8Array, { cutAt = 0, breaks = false } = {}): void {
  stubRequests(async () => {
    const pieces = [bytes.subarray(0, cutAt), bytes.subarray(cutAt)].filter(({ length }) => length > 0);
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift();
        if (piece !== undefined) controller.enqueue(piece);
        else if (breaks) controller.error(new Error('socket hang up'));
        else controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
}

function modelOf(name: string): Model {
  const options = { model: 'test', baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'sk-test-0123456789' };
  return name.startsWith('anthropic') ? anthropicModel(options) : openaiModel(options);
}

/** Joins the texts in all complete events: a plain reading of the format, independent of the program's. */
function expectedText(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  const events = text.replaceAll('\r\n', '\n').split('\n\n').slice(0, -1);
  const data = events.flatMap((event) => /^data: (\{.*)$/m.exec(event)?.[1] ?? []);
  return data
    .map((json) => {
      const event = JSON.parse(json) as { delta?: { text?: string }; choices?: { delta?: { content?: string } }[] };
      return event.delta?.text ?? event.choices?.[0]?.delta?.content ?? '';
    })
    .join('');
}

async function receive(name: string): Promise<{ events: ModelEvent[]; error: unknown }> {
  const events: ModelEvent[] = [];
  try {
    for await (const event of modelOf(name).answer(requestOf({ tools }))) events.push(event);
    return { events, error: null };
  } catch (error) {
    return { events, error };
  }
}

const calls = (one: string, other: string) => [
  { type: 'tool_call', id: one, name: 'read_file', arguments: '{"path": "src/ü.ts"}' },
  { type: 'tool_call', id: other, name: 'list_files', arguments: '{}' },
];

test.each([
  ['anthropic-calls.sse', 'I look 🔎 at both.', calls('toolu_01A', 'toolu_01B'), { inputTokens: 40, outputTokens: 64 }],
  ['openai-calls.sse', 'I look 🔎 at both.', calls('call_A', 'call_B'), { inputTokens: 40, outputTokens: 64 }],
  [
    'anthropic-thinking.sse',
    '# Plän\n\n- 👩‍👩‍👧 漢字 und Grüße\r\ntabs\there, "quotes"  end.\n',
    [],
    { inputTokens: 11_012, outputTokens: 345, cachedTokens: 9000, reasoningTokens: 210 },
  ],
  [
    'openai-reasoning.sse',
    '# Plän\n\n- 👩‍👩‍👧 漢字 und Grüße\r\ntabs\there end.\n',
    [],
    { inputTokens: 1200, outputTokens: 345, cachedTokens: 1024, reasoningTokens: 210 },
  ],
])('%s as a whole has its text, its calls, its tokens and its end', async (name, text, expected, usage) => {
  serve(read(name));
  const events = await collect(modelOf(name).answer(requestOf({ tools })));
  expect(textOf(events)).toBe(text);
  const rest = events.filter(({ type }) => type !== 'text' && type !== 'thought');
  const reason = expected.length > 0 ? 'tool_calls' : 'stop';
  expect(rest).toEqual([...expected, { type: 'usage', ...usage }, { type: 'finish', reason }]);
});

test('the model’s thinking comes apart from its answer', async () => {
  serve(read('anthropic-thinking.sse'));
  const events = await collect(modelOf('anthropic').answer(requestOf()));
  const thought = events.map((event) => (event.type === 'thought' ? event.text : '')).join('');
  expect(thought.startsWith('Der Nutzer möchte eine Änderung 🧸. I look')).toBe(true);
  expect(events.findLastIndex(({ type }) => type === 'thought')).toBeLessThan(
    events.findIndex(({ type }) => type === 'text'),
  );
});

describe.each(names)('every prefix of %s', (name) => {
  const bytes = read(name);
  const isAll = process.env['TEST_ALL'] === '1';
  const step = isAll ? 1 : 11;

  test('yields exactly the text in the received events, and never passes for a complete answer', async () => {
    for (let end = 1; end < bytes.length; end += step) {
      const prefix = bytes.subarray(0, end);
      // Only the next byte shows if this ends a line, and either reading is right.
      if (prefix.at(-1) === 0x0d) continue;
      serve(prefix, { cutAt: (end * 7919) % end, breaks: end % 2 === 0 });
      const { events, error } = await receive(name);
      expect(textOf(events), `${end} bytes`).toBe(expectedText(prefix));
      const isWhole = /"(?:stop_reason|finish_reason)":"/.test(completeEvents(prefix));
      expect(error === null, `${end} bytes`).toBe(isWhole);
      if (error !== null) expect(error).toMatchObject({ code: expect.stringMatching(/^MODEL_/) as string });
    }
  });

  slowTest('arrives the same wherever the whole is cut in two', async () => {
    for (let cutAt = 1; cutAt < bytes.length; cutAt += step) {
      serve(bytes, { cutAt });
      expect(textOf((await receive(name)).events), `cut at ${cutAt}`).toBe(expectedText(bytes));
    }
  });

  test('is kept as a part of the turn, byte for byte', async () => {
    for (const share of [0.3, 0.6, 0.9]) {
      const prefix = bytes.subarray(0, Math.floor(bytes.length * share));
      serve(prefix, { breaks: true });
      const project = await given.session();
      const expected = expectedText(prefix);
      await say(project, 'Do it', modelOf(name)).catch(() => null);
      const text = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/01/transcript.jsonl`);
      const kept = decodeTranscript(text ?? '').records.filter(({ type }) => type === 'assistant_partial');
      const message = { role: 'assistant', content: expected };
      expect(kept).toEqual(expected.trim() === '' ? [] : [expect.objectContaining({ message })]);
    }
  });
});

function completeEvents(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes).replaceAll('\r\n', '\n');
  return text.slice(0, text.lastIndexOf('\n\n') + 1);
}
