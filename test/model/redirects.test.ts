/** Servers that redirect a request to another address, which gets neither the request nor the key. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { TeddyError } from '../../src/errors.ts';
import { anthropicModel } from '../../src/model/anthropic.ts';
import { parseEndpoint } from '../../src/model/endpoint.ts';
import { toFailure, toTeddyError } from '../../src/model/failure.ts';
import { openaiModel } from '../../src/model/openai.ts';
import { listModels } from '../../src/model/served-models.ts';
import type { PresetName } from '../../src/session/settings/presets.ts';
import { collect, requestOf } from '../support/ask-model.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function start(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The base URL of a server that redirects to another one, and the requests that the other one has got. */
async function startRedirect(status: number): Promise<{ baseUrl: string; other: string; got: IncomingHttpHeaders[] }> {
  const got: IncomingHttpHeaders[] = [];
  const other = await start((request, response) => {
    got.push(request.headers);
    response.end('{}');
  });
  const baseUrl = await start((request, response) => {
    response.writeHead(status, { location: `${other}${request.url}?token=hidden` }).end('Moved');
  });
  return { baseUrl: `${baseUrl}/v1`, other, got };
}

const apiKey = 'sk-secret-0123456789';
const failed = (promise: Promise<unknown>) => promise.then(() => null).catch((error: unknown) => error as TeddyError);

test.each([
  ['openai', 301],
  ['openai', 307],
  ['anthropic', 302],
  ['anthropic', 308],
  ['gemini', 303],
] as [PresetName, number][])('%s: %i is an error that names the target', async (preset, status) => {
  const { baseUrl, other, got } = await startRedirect(status);
  const make = preset === 'anthropic' ? anthropicModel : openaiModel;
  const error = await failed(collect(make({ preset, model: 'm', baseUrl, apiKey }).answer(requestOf())));
  const path = preset === 'anthropic' ? '/v1/messages' : '/v1/chat/completions';
  expect(error).toMatchObject({
    code: 'MODEL_FAILED',
    message: expect.stringContaining(`answered ${status}, which leads to ${other}${path}. Neither`) as string,
    hint: expect.stringContaining('set teddy.baseUrl') as string,
  });
  expect(error?.message).not.toContain('hidden');
  expect(got).toEqual([]);
});

test.each(['openai', 'anthropic'] as const)('%s: a list of models is not requested elsewhere', async (preset) => {
  const { baseUrl, other, got } = await startRedirect(307);
  const endpoint = parseEndpoint({ preset, baseUrl, apiKey });
  const failure = toFailure(await failed(listModels(endpoint)), false);
  expect(failure).toMatchObject({ kind: 'redirected', message: `307, which leads to ${other}/v1/models` });
  if (failure !== null) expect(toTeddyError(failure, endpoint, 'm', { messages: [] }).code).toBe('MODEL_FAILED');
  expect(got).toEqual([]);
});

test('without a readable address, it is not followed', async () => {
  const baseUrl = await start((_, response) => void response.writeHead(302, { location: 'http://[' }).end());
  const error = await failed(collect(openaiModel({ model: 'm', baseUrl, apiKey }).answer(requestOf())));
  expect(error?.message).toContain('answered 302, which leads nowhere.');
});
