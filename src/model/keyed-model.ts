/** Determines which key an endpoint receives, and when teddy looks it up. */
import { TeddyError } from '../errors.ts';
import type { Model } from '../ports/model.ts';
import { presets, type Preset } from '../session/settings/presets.ts';
import { isLoopback } from '../session/masks/public-address.ts';
import { parseEndpoint } from './endpoint.ts';
import { anthropicModel } from './anthropic.ts';
import { openaiModel } from './openai.ts';
import type { ServerModelOptions } from './server-model.ts';

export interface ApiKey {
  value: string;
  /** `environment OPENAI_API_KEY`, or `git credential`. */
  origin: string;
}

interface KeyedModelOptions extends Omit<ServerModelOptions, 'apiKey' | 'keyOrigin'> {
  /** The key, if known from the start; null makes teddy call `findKey`. */
  key: ApiKey | null;
  /** Called only right before a request, so that nothing else runs a credential helper. */
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

/** Throws BAD_SETTING for a base URL or a known key that no request could use. */
export function keyedModel({ key: known, findKey, onWarning, ...options }: KeyedModelOptions): Model {
  const { url, preset } = parseEndpoint(options);
  const serverModel = preset.wire === 'anthropic' ? anthropicModel : openaiModel;
  const { provider, model, label } = serverModel({ ...options, apiKey: known?.value });
  return {
    provider,
    model,
    label,
    async *answer(request) {
      const key = known ?? (await findKey());
      if (key !== null && isExposed(url)) onWarning(`The API key is sent unencrypted to ${url}.`);
      yield* serverModel({ ...options, apiKey: key?.value, keyOrigin: key?.origin }).answer(request);
    },
  };
}

function isExposed(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && !isLoopback(hostname);
}

/**
 * Returns the error for a missing model, with the possible next steps. `isReachable` means that the settings specify an
 * endpoint, but no model.
 */
export function toNoModel(
  preset: Pick<Preset, 'name' | 'keyVariable'>,
  isReachable: boolean,
  env: Record<string, string | undefined>,
): TeddyError {
  const others = presets
    .filter((other) => other.name !== preset.name && keyFromEnvironment(other, env) !== null)
    .map(
      ({ name, keyVariable }) => `${keyVariable} is set: \`git config teddy.provider ${name}\` uses that endpoint. `,
    );
  const named = others.length === 0 ? '' : `${others.join('')}It needs \`git config teddy.model <name>\` too.`;
  const byHand = 'answer by hand: `teddy plan --from <file>`.';
  if (isReachable)
    return new TeddyError(
      'NO_MODEL',
      'No model is named for this endpoint.',
      'Use `git config teddy.model <name>` or --model <name>; `teddy models` lists the models that it has.',
    );
  if (preset.name === 'openai')
    return new TeddyError(
      'NO_MODEL',
      'No model is configured.',
      `${named === '' ? 'Set' : `${named} Otherwise set`} OPENAI_API_KEY (and OPENAI_BASE_URL, \`git config teddy.model <name>\` for another endpoint), or ${byHand}`,
    );
  return new TeddyError(
    'NO_MODEL',
    `The provider ${preset.name} needs a key, but none was found.`,
    `Set ${preset.keyVariable}, or store the key in git's credential helper; or ${byHand} ${named}`.trimEnd(),
  );
}

/** `readAnswer` reads the text from a file, from stdin or from an editor. Passes on its errors. */
export function manualModel({ readAnswer }: { readAnswer: () => Promise<string> }): Model {
  return {
    provider: 'manual',
    model: 'manual',
    label: 'manual',
    async *answer() {
      yield { type: 'text', text: await readAnswer() };
      yield { type: 'finish', reason: 'stop' };
    },
  };
}
