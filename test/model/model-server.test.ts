/** The tests' own model server, with the behavior that other tests rely on. */
import { afterEach, expect, test } from 'vitest';
import { openaiModel } from '../../src/model/openai.ts';
import { collect, requestOf, textOf } from '../support/ask-model.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';

let server: ModelServer | undefined;

afterEach(() => server?.close());

async function ask(content: string): Promise<string> {
  const model = openaiModel({ apiKey: 'sk-test-0123456789', baseUrl: server?.url, model: 'gpt-test', retryDelayMs: 1 });
  return textOf(await collect(model.answer(requestOf({ messages: [{ role: 'user', content }] }))));
}

test('a function answers each request according to its content', async () => {
  server = await startModelServer({
    answers: ({ model, messages }) =>
      messages[0]?.content === 'fail'
        ? { status: 400, body: { message: 'as told' } }
        : `${model}: ${messages[0]?.content}`,
  });
  expect([await ask('one'), await ask('two')]).toEqual(['gpt-test: one', 'gpt-test: two']);
  await expect(ask('fail')).rejects.toThrow('as told');
});

test('a request without a remaining answer is refused with a message that says so, and not retried', async () => {
  server = await startModelServer({ answers: ['only one'] });
  await ask('one');
  await expect(ask('two')).rejects.toThrow('no answer more');
  expect(server.requests()).toHaveLength(2);
});

test('the server closes immediately in the middle of a slow answer, even twice, and still lists its requests', async () => {
  server = await startModelServer({ answers: ['slow '.repeat(100)], chunkDelayMs: 60_000 });
  const asked = ask('hello').catch((error: unknown) => error);
  await server.waitForRequests(1);
  await server.close();
  await server.close();
  expect(await asked).toMatchObject({ code: expect.stringMatching(/^MODEL_/) });
  expect(server.requests().map(({ messages }) => messages)).toEqual([[{ role: 'user', content: 'hello' }]]);
});
