/**
 * Caches facts about models in files below `.git/teddy` that anybody may delete at any time: the facts that endpoints
 * report about their models, the fields that they refuse, and a list of many providers that the user has requested. If
 * none of them contains a fact, the user's settings decide.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import { replaceFile } from '../../disk/replace-file.ts';
import type { Store } from '../../ports/git.ts';
import type { Clock, KnownModels, SavedFacts } from '../../ports/project.ts';
import { toCount, toPrice, type ModelFacts, type ModelPrice } from '../../session/context/model-facts.ts';
import { parseObject } from '../../session/text/parse-object.ts';

interface KnownModelsOptions {
  /** `.git/teddy`. */
  dir: string;
  clock: Clock;
  store: Pick<Store, 'setting' | 'settingOrigin'>;
  /** Returns the URL in use for the provider with this name; null when the provider is not a server. */
  urlOf(provider: string): Promise<string | null>;
  /** Returns the name under which the list has this URL's models; null when it has none. */
  listedAs(provider: string, url: string): string | null;
}

const listKey = 'models.dev';

export function knownModels({ dir, clock, store, urlOf, listedAs }: KnownModelsOptions): KnownModels {
  const servedPath = join(dir, 'served-models.json');
  const listPath = join(dir, 'models.json');
  const refusedPath = join(dir, 'refused-fields.json');
  const dayMs = 24 * 60 * 60 * 1000;
  const reading = new Map<string, Promise<Record<string, unknown>>>();
  const load = (path: string): Promise<Record<string, unknown>> => {
    const known = reading.get(path) ?? readFile(path, 'utf8').then(toFields, () => toFields(null));
    reading.set(path, known);
    return known;
  };
  async function save(path: string, value: object): Promise<void> {
    reading.delete(path);
    await replaceFile(path, JSON.stringify(value));
  }
  async function findSaved(path: string, key: string): Promise<SavedFacts | null> {
    const { at, models } = toFields((await load(path))[key]);
    if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) return null;
    return { at, models: toModels(models) };
  }
  return {
    async find(provider, model) {
      const url = await urlOf(provider);
      const listed = url === null ? null : listedAs(provider, url);
      const [served, list, own] = await Promise.all([
        url === null ? null : findSaved(servedPath, url),
        listed === null ? null : findSaved(listPath, listed),
        readOwn(store, model),
      ]);
      const sources = [served?.models.get(model), list?.models.get(model), own];
      const first = <Name extends keyof ModelFacts>(name: Name) =>
        sources.map((facts) => facts?.[name] ?? null).find((value) => value !== null) ?? null;
      return { window: first('window'), answer: first('answer'), price: first('price') };
    },
    saved: (url) => findSaved(servedPath, url),
    listDate: async () => {
      const { at } = toFields((await load(listPath))[listKey]);
      return typeof at === 'string' ? at : null;
    },
    async keepServed(url, models) {
      const others = await load(servedPath);
      await save(servedPath, {
        ...others,
        [url]: { at: clock.now().toISOString(), models: Object.fromEntries(models) },
      });
    },
    async refusedFields(url, model) {
      const { at, fields } = toFields((await load(refusedPath))[`${model} at ${url}`]);
      const ageMs = clock.now().getTime() - Date.parse(String(at));
      if (!(ageMs >= 0 && ageMs < dayMs) || !Array.isArray(fields)) return [];
      return fields.filter((name) => typeof name === 'string');
    },
    async keepRefused(url, model, fields) {
      const entry = { at: clock.now().toISOString(), fields };
      await save(refusedPath, { ...(await load(refusedPath)), [`${model} at ${url}`]: entry });
    },
    async keepList(providers) {
      const at = clock.now().toISOString();
      const entries = [...providers].map(([name, models]) => [name, { at, models: Object.fromEntries(models) }]);
      await save(listPath, { [listKey]: { at }, ...Object.fromEntries(entries) });
    },
  };
}

/** The files are only copies, so an invalid one counts as missing. */
function toFields(value: unknown): Record<string, unknown> {
  if (typeof value === 'string') return parseObject(value) ?? {};
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function toModels(value: unknown): Map<string, ModelFacts> {
  return new Map(
    Object.entries(toFields(value)).map(([id, facts]) => {
      const { window, answer, price } = toFields(facts);
      return [id, { window: toCount(window), answer: toCount(answer), price: toPrice(toFields(price)) }];
    }),
  );
}

/** Reads `teddy.model.<name>.window` and `.price`. Throws BAD_SETTING. */
async function readOwn({ setting, settingOrigin }: KnownModelsOptions['store'], model: string): Promise<ModelFacts> {
  const read = async <Value>(
    name: string,
    parse: (text: string) => Value | null,
    expected: string,
    example: string,
  ) => {
    const key = `teddy.model.${model}.${name}`;
    const text = await setting(key);
    if (text === undefined || text.trim() === '') return null;
    const value = parse(text.trim());
    if (value !== null) return value;
    throw new TeddyError(
      'BAD_SETTING',
      `${key} is ${JSON.stringify(text.slice(0, 60))} (git config (${(await settingOrigin(key)) ?? ''})), but it takes ${expected}.`,
      `Change it: \`git config ${key} ${example}\`.`,
    );
  };
  const [window, price] = await Promise.all([
    read('window', parseWindow, 'a whole number of tokens above 0', '128000'),
    read(
      'price',
      parsePrice,
      'US dollars per million input tokens and output tokens, and cached ones if they cost less',
      '1.25/10/0.125',
    ),
  ]);
  return { window, answer: null, price };
}

function parseWindow(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? toCount(Number(text)) : null;
}

function parsePrice(text: string): ModelPrice | null {
  const amounts = text.split('/').map((part) => part.trim());
  if (amounts.length < 2 || amounts.length > 3 || !amounts.every((part) => /^(?:\d+\.?\d*|\.\d+)$/.test(part)))
    return null;
  const [input, output, cached] = amounts.map(Number);
  return toPrice({ input, output, cached });
}
