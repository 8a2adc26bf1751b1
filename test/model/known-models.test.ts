/** Models' windows and prices: which source counts, and what the files may contain. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { updateModels } from '../../src/app.ts';
import { toBudget } from '../../src/session/context/budget.ts';
import { knownModels } from '../../src/system/settings/known-models.ts';
import { stubRequests } from '../support/stub-requests.ts';

let dir: string;
let settings: Record<string, string>;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-models-'));
  settings = {};
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(dir, { recursive: true });
});

const url = 'https://openrouter.ai/api/v1';
const open = (now = '2026-11-23T08:00:00Z') =>
  knownModels({
    dir,
    clock: { now: () => new Date(now) },
    store: {
      setting: async (key) => settings[key],
      settingOrigin: async (key) => (key in settings ? 'local .git/config' : undefined),
    },
    urlOf: async (provider) => (provider === 'manual' ? null : provider === 'openrouter' ? url : `https://${provider}`),
    listedAs: (provider) => provider,
  });
const nothing = { window: null, answer: null, price: null };

test('the endpoint takes precedence over the list, and both over the settings; each fills the others’ gaps', async () => {
  settings = { 'teddy.model.a/b.window': '1000', 'teddy.model.a/b.price': '9/99' };
  expect(await open().find('openrouter', 'a/b')).toEqual({
    window: 1000,
    answer: null,
    price: { input: 9, output: 99 },
  });
  const list = new Map([['a/b', { window: 2000, answer: 500, price: { input: 2, output: 4, cached: 0.5 } }]]);
  await open().keepList(new Map([['openrouter', list]]));
  expect(await open().find('openrouter', 'a/b')).toEqual(list.get('a/b'));
  await open().keepServed(url, new Map([['a/b', { ...nothing, window: 3000 }]]));
  expect(await open().find('openrouter', 'a/b')).toEqual({ ...list.get('a/b'), window: 3000 });
  expect(await open().find('openrouter', 'other')).toEqual(nothing);
  expect(await open().find('manual', 'a/b')).toMatchObject({ window: 1000 });
  expect(await open().listDate()).toBe('2026-11-23T08:00:00.000Z');
});

test('the fields that an endpoint refuses are remembered for a day, by endpoint and model', async () => {
  await open().keepRefused(url, 'a/b', ['stream_options']);
  await open().keepRefused(url, 'c', ['reasoning_effort']);
  expect(await open('2026-11-24T07:59:59Z').refusedFields(url, 'a/b')).toEqual(['stream_options']);
  expect(await open().refusedFields('http://127.0.0.1:8000/v1', 'a/b')).toEqual([]);
  expect(await open().refusedFields(url, 'other')).toEqual([]);
  for (const now of ['2026-11-24T08:00:00Z', '2026-11-22T08:00:00Z'])
    expect(await open(now).refusedFields(url, 'a/b')).toEqual([]);
  await writeFile(join(dir, 'refused-fields.json'), `{"a/b at ${url}":{"at":"2026-11-23","fields":7}}`);
  expect(await open().refusedFields(url, 'a/b')).toEqual([]);
});

test('an endpoint’s data replaces its earlier data, and no one else’s', async () => {
  const models = open();
  await models.keepServed(url, new Map([['old', { ...nothing, window: 1 }]]));
  await models.keepServed('http://127.0.0.1:8000/v1', new Map([['q', { ...nothing, window: 2 }]]));
  await models.keepServed(url, new Map([['new', { ...nothing, window: 3 }]]));
  expect([...((await models.saved(url))?.models.keys() ?? [])]).toEqual(['new']);
  expect((await open().saved('http://127.0.0.1:8000/v1'))?.models.get('q')?.window).toBe(2);
});

test.each([
  ['price', 'cheap', 'US dollars per million input tokens and output tokens'],
  ['price', '1.25', 'US dollars'],
  ['price', '1/2/3/4', 'US dollars'],
  ['price', '-1/2', 'US dollars'],
  ['price', '1e3/2', 'US dollars'],
  ['window', 'large', 'a whole number of tokens'],
  ['window', '0', 'a whole number of tokens'],
])('a %s of %j is refused, with its name and a command that corrects it', async (name, value, expected) => {
  settings = { [`teddy.model.gpt-x.${name}`]: value };
  await expect(open().find('openai', 'gpt-x')).rejects.toMatchObject({
    code: 'BAD_SETTING',
    message: expect.stringContaining(
      `teddy.model.gpt-x.${name} is "${value}" (git config (local .git/config)), but it takes ${expected}`,
    ) as string,
    hint: expect.stringContaining(`\`git config teddy.model.gpt-x.${name} `) as string,
  });
});

test('damaged or nonsensical files are ignored', async () => {
  for (const text of ['', '{', '[]', 'null', `{"${url}":{"at":"never","models":{"a":{"window":5}}}}`]) {
    await writeFile(join(dir, 'served-models.json'), text);
    expect(await open().find('openrouter', 'a')).toEqual(nothing);
  }
  const odd = {
    [url]: { at: '2026-11-23T08:00:00Z', models: { a: { window: 'big', answer: -1, price: { input: 'x' } }, b: 7 } },
  };
  await writeFile(join(dir, 'served-models.json'), JSON.stringify(odd));
  expect(await open().find('openrouter', 'a')).toEqual(nothing);
  await open().keepServed(url, new Map());
  expect(await readFile(join(dir, 'served-models.json'), 'utf8')).toContain(url);
});

describe('teddy models update', () => {
  const list = {
    anthropic: {
      models: {
        c: { limit: { context: 200_000, output: 64_000 }, cost: { input: 3, output: 15, cache_read: 0.3 } },
        free: { limit: {}, cost: null },
      },
    },
    nobody: { models: {} },
    odd: 7,
  };

  test('stores the list’s windows and prices', async () => {
    const asked: string[] = [];
    stubRequests(async (address: string) => (asked.push(address), Response.json(list)));
    const models = open();
    expect(await updateModels({ models })).toEqual({ url: 'https://models.dev/api.json', count: 2 });
    expect(asked).toEqual(['https://models.dev/api.json']);
    expect(await open().find('anthropic', 'c')).toEqual({
      window: 200_000,
      answer: 64_000,
      price: { input: 3, output: 15, cached: 0.3 },
    });
    expect(await open().find('anthropic', 'free')).toEqual(nothing);
  });

  test.each([
    [() => new Response('<html>Gone', { headers: { 'content-type': 'text/html' } }), 'an HTML page that begins "Gone"'],
    [() => new Response('no', { status: 503 }), 'no'],
    [() => Response.json({}), 'lists no models'],
  ])('keeps the earlier list if it fails (%#)', async (answer, reason) => {
    stubRequests(async () => Response.json(list));
    await updateModels({ models: open() });
    stubRequests(async () => answer());
    await expect(updateModels({ models: open() })).rejects.toMatchObject({
      code: 'PAGE_FAILED',
      message: expect.stringContaining(reason) as string,
    });
    expect(await open().find('anthropic', 'c')).toMatchObject({ window: 200_000 });
  });
});

test.each([
  [undefined, {}, 272_000],
  [5000, { window: 8192 }, 5000],
  [undefined, { window: 200_000, answer: 8000 }, 192_000],
  [undefined, { window: 200_000, answer: 200_000 }, 150_000],
  [undefined, { window: 4096 }, 3072],
  [undefined, { window: 200_000, answer: 64_000, maxAnswer: 1000 }, 199_000],
  [undefined, { maxAnswer: 1000 }, 399_000],
] as const)('a budget for gpt-5 with the setting %j, while %j is known, is %i', (setting, known, budget) => {
  expect(toBudget(setting, 'gpt-5', known)).toBe(budget);
});
