/** Checks the destination of requests and their key, before teddy sends anything. */
import { TeddyError } from '../errors.ts';
import { findPreset, type Preset, type PresetName } from '../session/settings/presets.ts';

export interface Endpoint {
  preset: Preset & { name: PresetName };
  /** The base URL as teddy requests and shows it; it never contains a user name, a password or a query. */
  url: string;
  /** If empty, teddy sends no key, which suits local servers. */
  apiKey: string;
  /** The key's origin; by default, the environment. */
  keyOrigin?: string | undefined;
}

export interface EndpointOptions {
  /** By default, `openai`. */
  preset?: PresetName | undefined;
  /** If missing or empty, teddy uses the preset's URL. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  keyOrigin?: string | undefined;
}

/** Throws BAD_SETTING for values that no request could use. */
export function parseEndpoint({ preset: name = 'openai', baseUrl, apiKey, keyOrigin }: EndpointOptions): Endpoint {
  const preset = findPreset(name);
  if (preset === undefined) throw new Error(`There is no preset ${name}.`);
  const url = parseBaseUrl(baseUrl?.trim() || preset.url, preset);
  return { preset, url, apiKey: parseApiKey(apiKey?.trim() ?? '', preset), keyOrigin };
}

/** Returns the setting with which the user chooses another endpoint. */
export function urlNameOf({ urlVariable }: Preset): string {
  return urlVariable ?? 'teddy.baseUrl';
}

/** Returns the place where the user keeps the key. */
export function keyNameOf({ keyVariable }: Preset): string {
  return keyVariable ?? 'the key in git credential';
}

function parseBaseUrl(text: string, preset: Preset): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const name = urlNameOf(preset);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw badSetting("The model's base URL is not an http or https URL.", `Set ${name}, e.g. to ${preset.url}.`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw badSetting(
      "The model's base URL contains a user name, password or query.",
      `Put the key in ${keyNameOf(preset)} and keep ${name} plain, e.g. ${preset.url}.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

function parseApiKey(apiKey: string, preset: Preset): string {
  if (!/^[\x21-\x7e]*$/.test(apiKey)) {
    throw badSetting(
      'The API key contains spaces or characters that are not allowed in an HTTP header.',
      `Set ${keyNameOf(preset)} to the key alone.`,
    );
  }
  return apiKey;
}

function badSetting(message: string, hint: string): TeddyError {
  return new TeddyError('BAD_SETTING', message, hint);
}
