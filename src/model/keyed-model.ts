/** Which key an endpoint gets, and when it is looked for. */
import { TeddyError } from '../errors.ts';
import type { Model } from '../ports/model.ts';
import type { Preset } from '../session/presets.ts';
import { parseEndpoint } from './endpoint.ts';
import { openaiModel } from './openai.ts';
import type { ServerModelOptions } from './server-model.ts';

export interface ApiKey {
  value: string;
  /** `environment OPENAI_API_KEY`, or `git credential`. */
  origin: string;
}

interface KeyedModelOptions extends Omit<ServerModelOptions, 'apiKey' | 'keyOrigin'> {
  /** Known from the start; null: `findKey` is asked. */
  key: ApiKey | null;
  /** Asked when a request is about to leave, so that nothing else runs a credential helper. */
  findKey(): Promise<ApiKey | null>;
  onWarning(text: string): void;
}

export function keyFromEnvironment(
  { keyVariable }: Pick<Preset, 'keyVariable'>,
  env: Record<string, string | undefined>,
): ApiKey | null {
  const value = keyVariable === null ? undefined : env[keyVariable];
  return value ? { value, origin: `environment ${keyVariable}` } : null;
}

/** Throws BAD_SETTING for a base URL or a known key that could never be sent. */
export function keyedModel({ key: known, findKey, onWarning, ...options }: KeyedModelOptions): Model {
  const { url } = parseEndpoint(options);
  const { provider, model, label } = openaiModel({ ...options, apiKey: known?.value });
  return {
    provider,
    model,
    label,
    async *answer(request) {
      const key = known ?? (await findKey());
      if (key !== null && isExposed(url)) onWarning(`The key travels unencrypted to ${url}.`);
      yield* openaiModel({ ...options, apiKey: key?.value, keyOrigin: key?.origin }).answer(request);
    },
  };
}

function isExposed(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && !/^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** The ways out. `isReachable`: there is an endpoint, but no name for a model of it. */
export function toNoModel(isReachable: boolean): TeddyError {
  return new TeddyError(
    'NO_MODEL',
    isReachable ? 'No model is named for this endpoint.' : 'No model is configured.',
    isReachable
      ? '`git config teddy.model <name>` or --model <name>.'
      : 'Set OPENAI_API_KEY (and OPENAI_BASE_URL, `git config teddy.model <name>` for another endpoint), or answer by hand: `teddy session plan --from <file>`.',
  );
}
