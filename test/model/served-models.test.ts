/** Endpoints, and local servers, list their models. */
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { chooseModel, listServedModels } from '../../src/app.ts';
import { parseEndpoint } from '../../src/model/endpoint.ts';
import { anthropicModel } from '../../src/model/anthropic.ts';
import { openaiModel } from '../../src/model/openai.ts';
import { findLocalServers, listModels, readOllamaWindow } from '../../src/model/served-models.ts';
import type { TeddyError } from '../../src/errors.ts';
import type { ModelFacts } from '../../src/session/context/model-facts.ts';
import type { PresetName } from '../../src/session/settings/presets.ts';
import { collect, requestOf } from '../support/ask-model.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { stubRequests } from '../support/stub-requests.ts';

afterEach(() => vi.restoreAllMocks());

const asked: { url: string; headers: Record<string, string> }[] = [];

/** Address -> a document, a status or a page; anything else is refused. */
function serve(documents: Record<string, unknown>): void {
  asked.length = 0;
  stubRequests(async (url: string, init: { headers: Record<string, string>; signal: AbortSignal }) => {
    asked.push({ url, headers: init.headers });
    const found = Object.entries(documents).find(([address]) => url.startsWith(address))?.[1];
    if (found === 'silence')
      return new Promise((_, reject) =>
        init.signal.addEventListener('abort', () => reject(init.signal.reason as Error)),
      );
    if (found === undefined) throw new TypeError('fetch failed', { cause: new Error(`connect ECONNREFUSED ${url}`) });
    if (typeof found === 'number') return new Response('{"error":{"message":"no such model"}}', { status: found });
    if (typeof found === 'string') return new Response(found, { headers: { 'content-type': 'text/html' } });
    return Response.json(found);
  });
}

const list = (...ids: string[]) => ({ data: ids.map((id) => ({ id })) });
const listOf = (name: PresetName, document: unknown) => {
  const endpoint = parseEndpoint({ preset: name, baseUrl: 'http://host/v1', apiKey: 'sk-0123456789' });
  serve({ 'http://host/v1/models': document });
  return listModels(endpoint);
};

describe('a list of models', () => {
  test.each([
    [
      'openrouter',
      {
        id: 'a/b',
        context_length: 200_000,
        top_provider: { max_completion_tokens: 64_000 },
        pricing: { prompt: '0.000003', completion: '0.000015', input_cache_read: '0.0000003' },
      },
      { id: 'a/b', window: 200_000, answer: 64_000, price: { input: 3, output: 15, cached: 0.3 } },
    ],
    [
      'openrouter',
      { id: 'auto', pricing: { prompt: '-1', completion: '-1' } },
      { id: 'auto', window: null, answer: null, price: null },
    ],
    ['vllm', { id: 'q', max_model_len: 32_768 }, { id: 'q', window: 32_768, answer: null, price: null }],
    ['llamacpp', { id: 'l', meta: { n_ctx_train: 131_072 } }, { id: 'l', window: 131_072, answer: null, price: null }],
    [
      'anthropic',
      { id: 'c', max_input_tokens: 1_000_000, max_tokens: 64_000 },
      { id: 'c', window: 1_000_000, answer: 64_000, price: null },
    ],
    ['gemini', { id: 'models/g' }, { id: 'g', window: null, answer: null, price: null }],
    [
      'openai',
      { id: 'o', context_length: 'many', pricing: { prompt: 'free', completion: null } },
      { id: 'o', window: null, answer: null, price: null },
    ],
  ] as const)('from %s: %j', async (name, served, expected) => {
    const [model] = await listOf(name, { data: [served, { no: 'id' }, null] });
    expect({ ...model, price: roundPrice(model?.price) }).toEqual(expected);
  });

  test('is requested with the key, in the endpoint’s form', async () => {
    await listOf('anthropic', list('c'));
    expect(asked[0]).toMatchObject({
      url: 'http://host/v1/models?limit=1000',
      headers: { 'x-api-key': 'sk-0123456789' },
    });
    await listOf('openrouter', list('c'));
    expect(asked[0]?.headers).toMatchObject({ authorization: 'Bearer sk-0123456789' });
  });

  test.each([[{}], [{ data: 'x' }], [[]], [null]])('that is %j is empty', async (document) => {
    expect(await listOf('vllm', document)).toEqual([]);
  });
});

/** Multiplying by a million is not exact. */
function roundPrice(price: object | null | undefined): object | null {
  if (!price) return null;
  return Object.fromEntries(Object.entries(price).map(([name, amount]) => [name, Number(Number(amount).toFixed(6))]));
}

describe('Ollama', () => {
  const endpoint = { url: 'http://127.0.0.1:11434/v1' };
  const model_info = { 'llama.context_length': 131_072 };

  test.each([
    [
      { model_info, parameters: 'stop "x"\nnum_ctx                        16384\n' },
      { used: 16_384, possible: 131_072 },
    ],
    [{ model_info }, { used: 4096, possible: 131_072 }],
    [{ model_info: { 'bert.context_length': 512 } }, { used: 512, possible: 512 }],
    [{ model_info: {} }, { used: 4096, possible: null }],
    [{ other: 1 }, null],
    [404, null],
  ])('that reports %j for a model has the window %j', async (document, expected) => {
    serve({ 'http://127.0.0.1:11434/api/show': document });
    expect(await readOllamaWindow(endpoint, 'm')).toEqual(expected);
  });
});

describe('a model that the endpoint does not list', () => {
  const ask = (model: string, preset: 'openai' | 'anthropic' = 'openai') => {
    const make = preset === 'openai' ? openaiModel : anthropicModel;
    return collect(make({ model, preset, baseUrl: 'http://host/v1', apiKey: '' }).answer(requestOf())).catch(
      (error: unknown) => error as TeddyError,
    );
  };

  test.each([
    ['gpt-4o-mni', 'Is it gpt-4o-mini?'],
    ['gpt-4o', 'Is it gpt-4o-mini, or gpt-4o-audio?'],
    ['something else', 'It has gpt-4o-mini, gpt-4o-audio, whisper.'],
  ])('%s gets suggestions with the nearest names', async (model, hint) => {
    serve({
      'http://host/v1/models': list('gpt-4o-mini', 'gpt-4o-audio', 'whisper'),
      'http://host/v1/chat/completions': 404,
      'http://host/v1/messages': 404,
    });
    for (const preset of ['openai', 'anthropic'] as const) {
      const error = (await ask(model, preset)) as TeddyError;
      expect(error).toMatchObject({ code: 'MODEL_NOT_FOUND' });
      expect(error.hint?.startsWith(hint), error.hint).toBe(true);
      expect(error.hint).toContain('`teddy models`');
    }
  });

  test('is an error of its own if there is no list', async () => {
    serve({ 'http://host/v1/chat/completions': 404, 'http://host/v1/models': '<html>' });
    expect((await ask('x')) as TeddyError).toMatchObject({ hint: expect.stringMatching(/^http:\/\/host/) as string });
  });
});

describe('a local server', () => {
  const ollama = 'http://127.0.0.1:11434/v1';
  const vllm = 'http://127.0.0.1:8000/v1';

  test('is found if it lists chat models, and nothing else is', async () => {
    serve({
      [`${ollama}/models`]: list('nomic-embed-text', 'llama3.2'),
      'http://127.0.0.1:1234/v1/models': '<html>Not here</html>',
      'http://127.0.0.1:8080/v1/models': 404,
      [`${vllm}/models`]: 'silence',
    });
    expect(await findLocalServers()).toEqual([{ name: 'ollama', url: ollama, models: ['llama3.2'] }]);
    expect(asked.map(({ headers }) => headers['authorization'])).toEqual(Array(4).fill(undefined));
  });

  async function choose(answers: boolean[] | null, settings: Record<string, string> = {}, asksEndpoint?: boolean) {
    const project = await memoryProject();
    const [said, questions]: [string[], string[]] = [[], []];
    const confirm = async (question: string) => (questions.push(question), answers?.shift() ?? false);
    for (const [name, value] of Object.entries(settings)) project.configuration.set(`teddy.${name}`, value);
    const notices = { ...project.notices, info: (text: string) => void said.push(text) };
    const choice = await chooseModel(
      { ...project, notices: answers === null ? notices : { ...notices, confirm } },
      {
        inEditor: false,
        ...(asksEndpoint === undefined ? {} : { asksEndpoint }),
        cwd: '/',
        env: {},
        stdin: new PassThrough(),
        readRecordedLine: async () => [],
      },
    );
    return { choice, said, questions };
  }

  test('is offered if nothing is configured and somebody can be asked, and is used only after a yes', async () => {
    serve({ [`${ollama}/models`]: list('llama3.2', 'qwen3'), [`${vllm}/models`]: list('q') });
    const { choice, said, questions } = await choose([false, true]);
    expect(questions).toEqual([
      `No model is configured, but ollama answers at ${ollama} with 2 models. Ask llama3.2 there?`,
      `No model is configured, but vllm answers at ${vllm} with one model. Ask q there?`,
    ]);
    expect(choice).toMatchObject({ provider: 'vllm', name: 'q', missing: null });
    expect(said).toEqual(['To keep it: git config teddy.provider vllm && git config teddy.model q']);
    const refused = await choose([false, false]);
    expect(refused.choice).toMatchObject({ provider: 'none', missing: { code: 'NO_MODEL' } });
  });

  test('is not even looked for if nobody can be asked, nothing may be sent, or a provider is named', async () => {
    serve({ [`${ollama}/models`]: list('llama3.2') });
    expect((await choose(null)).choice).toMatchObject({ provider: 'none' });
    expect(await choose([true], {}, false)).toMatchObject({ choice: { provider: 'none' }, questions: [] });
    expect((await choose([true], { provider: 'gemini' })).choice.missing?.hint).toContain('GEMINI_API_KEY');
    expect(asked).toEqual([]);
  });
});

describe('teddy.baseUrl', () => {
  const env = {
    OPENAI_API_KEY: 'sk-openai-0123456789',
    ANTHROPIC_API_KEY: 'sk-ant-0123456789',
    GEMINI_API_KEY: 'sk-gemini-0123456789',
    OPENROUTER_API_KEY: 'sk-or-0123456789',
  };
  const own = {
    openai: 'https://api.openai.com/v1',
    anthropic: 'https://api.anthropic.com',
    gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
    openrouter: 'https://openrouter.ai/api/v1',
    vllm: 'http://127.0.0.1:8000/v1',
  };

  /** The addresses where the model and the list are requested, with these variables and settings. */
  async function addressesOf(
    provider: string | undefined,
    settings: Record<string, string>,
    variables: Record<string, string> = {},
  ) {
    serve({ http: list('m') });
    const project = await memoryProject();
    for (const [name, value] of Object.entries({ model: 'm', baseUrl: 'http://box/v1', ...settings }))
      project.configuration.set(`teddy.${name}`, value);
    const { find } = project.settings;
    project.settings.find = async (name) => {
      const value = name === 'provider' ? variables['TEDDY_PROVIDER'] : undefined;
      return value === undefined ? find(name) : { name, value, origin: 'environment', problem: null };
    };
    const { model } = await chooseModel(project, {
      provider,
      inEditor: false,
      cwd: '/',
      env: { ...env, ...variables },
      stdin: new PassThrough(),
      readRecordedLine: async () => [],
    });
    const { url } = await listServedModels(project, { provider, env: { ...env, ...variables } });
    return {
      label: model?.label.split(' at ')[1],
      url,
      boxed: asked.filter((request) => request.url.startsWith('http://box')).length > 0,
    };
  }

  test.each(Object.entries(own))('for another provider does not get %s’s key', async (provider, url) => {
    for (const settings of [{ provider: 'ollama' }, { provider: 'manual' }])
      expect(await addressesOf(provider, settings)).toEqual({ label: url, url, boxed: false });
    if (provider !== 'openai') expect(await addressesOf(provider, {})).toEqual({ label: url, url, boxed: false });
  });

  test('applies to the configured provider, and to openai if there is none', async () => {
    const box = { label: 'http://box/v1', url: 'http://box/v1', boxed: true };
    expect(await addressesOf(undefined, {})).toEqual(box);
    expect(await addressesOf('openai', {})).toEqual(box);
    for (const provider of Object.keys(own)) expect(await addressesOf(provider, { provider })).toEqual(box);
    expect(await addressesOf('vllm', {}, { TEDDY_PROVIDER: 'vllm' })).toEqual(box);
  });

  test('beside a provider in git config applies to no other one from the environment', async () => {
    const asking = addressesOf('openai', { provider: 'ollama' }, { TEDDY_PROVIDER: 'openai' });
    expect(await asking).toEqual({ label: own.openai, url: own.openai, boxed: false });
  });

  test.each([
    ['openai', 'OPENAI_BASE_URL'],
    ['anthropic', 'ANTHROPIC_BASE_URL'],
  ])('for %s still yields to %s', async (provider, name) => {
    const url = 'http://other/v1';
    expect(await addressesOf(provider, { provider: 'ollama' }, { [name]: url })).toMatchObject({ label: url, url });
    expect(await addressesOf(provider, { provider }, { [name]: url })).toMatchObject({ label: url, url });
  });
});

describe('the window', () => {
  async function choose(
    provider: PresetName,
    settings: Record<string, string> = {},
    { saved = null, ...options }: { saved?: string | null; asksEndpoint?: boolean } = {},
  ) {
    const project = await memoryProject();
    for (const [name, value] of Object.entries({ provider, model: 'm', ...settings }))
      project.configuration.set(`teddy.${name}`, value);
    const kept: [string, ModelFacts | undefined][] = [];
    const models = {
      ...project.models,
      saved: async () => (saved === null ? null : { at: saved, models: new Map() }),
      keepServed: async (url: string, served: ReadonlyMap<string, ModelFacts>) =>
        void kept.push([url, served.get('m')]),
    };
    await chooseModel(
      { ...project, models },
      {
        ...options,
        inEditor: false,
        cwd: '/',
        env: { OPENROUTER_API_KEY: 'sk-or-0123456789' },
        stdin: new PassThrough(),
        readRecordedLine: async () => [],
      },
    );
    return { kept, said: project.said };
  }
  const served = { data: [{ id: 'm', max_model_len: 5000, context_length: 5000 }] };
  const facts = { window: 5000, answer: null, price: null };

  test('is requested once a day if the endpoint reports it', async () => {
    serve({ 'http://127.0.0.1:8000/v1/models': served, 'https://openrouter.ai/api/v1/models': served });
    expect((await choose('vllm')).kept).toEqual([['http://127.0.0.1:8000/v1', facts]]);
    expect((await choose('openrouter')).kept).toEqual([['https://openrouter.ai/api/v1', facts]]);
    expect((await choose('vllm', {}, { saved: '2020-01-01T00:00:00Z' })).kept).toHaveLength(1);
    asked.length = 0;
    expect((await choose('vllm', {}, { saved: new Date().toISOString() })).kept).toEqual([]);
    expect((await choose('vllm', { contextTokens: '900' })).kept).toEqual([]);
    expect(asked).toEqual([]);
  });

  test.each(['vllm', 'openrouter', 'ollama'] as const)(
    'is not requested from %s if nothing may be sent',
    async (name) => {
      const model_info = { 'llama.context_length': 131_072 };
      serve({ 'http://127.0.0.1:11434/api/show': { model_info }, http: served });
      expect(await choose(name, {}, { asksEndpoint: false })).toEqual({ kept: [], said: [] });
      expect(asked).toEqual([]);
    },
  );

  test('that is unavailable does not cause a failure', async () => {
    serve({ 'http://127.0.0.1:8000/v1/models': 404 });
    expect((await choose('vllm')).kept).toEqual([]);
    expect((await choose('llamacpp')).kept).toEqual([]);
  });

  test('for Ollama is the one it loads the model with, and a smaller one than the model’s causes a warning', async () => {
    const show = { 'http://127.0.0.1:11434/api/show': { model_info: { 'llama.context_length': 131_072 } } };
    serve(show);
    const { kept, said } = await choose('ollama');
    expect(kept).toEqual([['http://127.0.0.1:11434/v1', { window: 4096, answer: null, price: null }]]);
    expect(said.join()).toMatch(
      /^warning: Ollama shows m only the last 4,096 tokens .*silently drops.* supports 131,072\. .*num_ctx/,
    );
    expect((await choose('ollama', { contextTokens: '4000' })).said).toEqual([]);
    expect((await choose('ollama', { contextTokens: '9000' })).said).toHaveLength(1);
    serve({
      'http://127.0.0.1:11434/api/show': { model_info: { 'llama.context_length': 8192 }, parameters: 'num_ctx 8192' },
    });
    expect((await choose('ollama')).said).toEqual([]);
  });
});

describe('teddy models', () => {
  const listFor = async (provider: string, env: Record<string, string> = {}) =>
    listServedModels(await memoryProject(), { provider, env }).catch((error: unknown) => error);

  test('lists the models at a preset’s endpoint', async () => {
    serve({ 'https://openrouter.ai/api/v1/models': list('a/b') });
    expect(await listFor('openrouter', { OPENROUTER_API_KEY: 'sk-or-0123456789' })).toMatchObject({
      provider: 'openrouter',
      url: 'https://openrouter.ai/api/v1',
      models: [{ id: 'a/b' }],
    });
  });

  test('names the missing setting', async () => {
    serve({ 'http://127.0.0.1:8000/v1/models': '<html>Hello' });
    expect(await listFor('openrouter')).toMatchObject({
      code: 'NO_MODEL',
      hint: expect.stringContaining('OPENROUTER_API_KEY') as string,
    });
    expect(await listFor('manual')).toMatchObject({ code: 'USAGE' });
    expect(await listFor('nobody')).toMatchObject({ code: 'UNKNOWN_PROVIDER' });
    expect(await listFor('ollama')).toMatchObject({ code: 'MODEL_UNREACHABLE' });
    expect(await listFor('vllm')).toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('an HTML page that begins "Hello"') as string,
    });
  });
});
