/** Reads an endpoint's models, with their windows and prices. */
import { presets, type PresetName } from '../session/settings/presets.ts';
import { toCount, toPrice, type ModelFacts } from '../session/context/model-facts.ts';
import type { Endpoint } from './endpoint.ts';
import { addressOf, readJson } from './wire.ts';
import { field, isObject } from '../session/text/parse-object.ts';

export interface ServedModel extends ModelFacts {
  id: string;
}

const listTimeoutMs = 10_000;

/** Lists the models in the endpoint's order. Throws WireError. */
export async function listModels(endpoint: Endpoint, timeoutMs: number = listTimeoutMs): Promise<ServedModel[]> {
  const all = endpoint.preset.wire === 'anthropic' ? '?limit=1000' : '';
  const answer = await readJson(addressOf(endpoint, `models${all}`), { endpoint, timeoutMs });
  const data = field(answer, 'data');
  const models: unknown[] = Array.isArray(data) ? data : [];
  return models.flatMap(toServed);
}

/** The window has many names, and most servers report it under none of them. */
const windowNames = ['context_length', 'max_model_len', 'context_window', 'max_context_length', 'max_input_tokens'];
const answerNames = ['max_completion_tokens', 'max_output_tokens', 'max_tokens'];
const perMillion = 1_000_000;

function toServed(value: unknown): ServedModel[] {
  const id = field(value, 'id');
  if (typeof id !== 'string' || id === '') return [];
  const [provider, pricing] = [field(value, 'top_provider'), field(value, 'pricing')];
  const find = (names: string[], from: unknown) => names.map((name) => toCount(field(from, name))).find(Boolean);
  // llama.cpp reports the window that it started with, otherwise the window that the model was trained with.
  const meta = field(value, 'meta');
  const window = find(windowNames, value) ?? find(['n_ctx', 'n_ctx_train'], meta) ?? null;
  const answer = find(answerNames, value) ?? find(answerNames, provider) ?? null;
  const [input, output, cached] = ['prompt', 'completion', 'input_cache_read'].map((name) => {
    const amount = Number(field(pricing, name) ?? Number.NaN);
    return amount * perMillion;
  });
  return [{ id: id.replace(/^models\//, ''), window, answer, price: toPrice({ input, output, cached }) }];
}

export interface OllamaWindow {
  /** The number of tokens in a request that Ollama shows the model; it silently cuts the rest. */
  used: number;
  /** The number of tokens that the model supports; null when that is unknown. */
  possible: number | null;
}

/** Ollama's default for a model that specifies no window. */
const ollamaDefault = 4096;

/** Returns null when the server is not Ollama or does not have the model. */
export async function readOllamaWindow({ url }: Pick<Endpoint, 'url'>, model: string): Promise<OllamaWindow | null> {
  const address = `${url.replace(/\/v1$/, '')}/api/show`;
  const shown = await readJson(address, { body: { model }, timeoutMs: localTimeoutMs }).catch(() => null);
  const info = field(shown, 'model_info');
  if (!isObject(info)) return null;
  const length = Object.entries(info).find(([name]) => name.endsWith('.context_length'))?.[1];
  const set = /^num_ctx\s+(\d+)\s*$/m.exec(String(field(shown, 'parameters') ?? ''))?.[1];
  const possible = toCount(length);
  return { used: toCount(Number(set)) ?? Math.min(ollamaDefault, possible ?? ollamaDefault), possible };
}

export interface LocalServer {
  name: PresetName;
  url: string;
  models: string[];
}

const localTimeoutMs = 300;

/** Finds the servers on this machine that list models at their default ports. */
export async function findLocalServers(): Promise<LocalServer[]> {
  const local = presets.filter(({ keyVariable }) => keyVariable === null);
  const found = await Promise.all(
    local.map(async (preset): Promise<LocalServer[]> => {
      const endpoint = { preset, url: preset.url, apiKey: '' };
      const models = await listModels(endpoint, localTimeoutMs).catch(() => []);
      // An embedding model cannot answer.
      const ids = models.map(({ id }) => id).filter((id) => !/embed/i.test(id));
      return ids.length === 0 ? [] : [{ name: preset.name, url: preset.url, models: ids }];
    }),
  );
  return found.flat();
}

/** A list of many providers' models that a community maintains. */
export const listUrl = 'https://models.dev/api.json';

/** Fetches the facts by provider and model. Throws WireError. */
export async function fetchList(): Promise<Map<string, Map<string, ModelFacts>>> {
  const list = await readJson(listUrl, { timeoutMs: 30_000, redirects: 5 });
  const entries = (value: unknown) => (isObject(value) ? Object.entries(value) : []);
  const providers = entries(list).map(([name, provider]) => {
    const models = entries(field(provider, 'models')).map(([id, model]) => {
      const [limit, cost] = [field(model, 'limit'), field(model, 'cost')];
      const [input, output, cached] = ['input', 'output', 'cache_read'].map((key) => field(cost, key));
      const price = toPrice({ input, output, cached });
      return [
        id,
        { window: toCount(field(limit, 'context')), answer: toCount(field(limit, 'output')), price },
      ] as const;
    });
    return [name, new Map<string, ModelFacts>(models)] as const;
  });
  return new Map(providers.filter(([, models]) => models.size > 0));
}
