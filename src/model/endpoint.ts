/** Where requests go and with which key, checked before anything is sent. */
import { TeddyError } from '../errors.ts';
import { findPreset, type Preset, type PresetName } from '../session/settings/presets.ts';

export interface Endpoint {
  preset: Preset & { name: PresetName };
  /** The base URL as it is requested and shown: never with a user name, a password or a query. */
  url: string;
  /** Empty: no key is sent, as local servers like it. */
  apiKey: string;
  /** Where the key comes from; missing: the environment. */
  keyOrigin?: string | undefined;
}

export interface EndpointOptions {
  /** `openai` if not given. */
  preset?: PresetName | undefined;
  /** Missing or empty: that of the preset. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  keyOrigin?: string | undefined;
}

/** Throws BAD_SETTING for what could never be sent. */
export function parseEndpoint({ preset: name = 'openai', baseUrl, apiKey, keyOrigin }: EndpointOptions): Endpoint {
  const preset = findPreset(name);
  if (preset === undefined) throw new Error(`There is no preset ${name}.`);
  const url = parseBaseUrl(baseUrl?.trim() || preset.url, preset);
  return { preset, url, apiKey: parseApiKey(apiKey?.trim() ?? '', preset), keyOrigin };
}

/** How a person names another endpoint. */
export function urlNameOf({ urlVariable }: Preset): string {
  return urlVariable ?? 'teddy.baseUrl';
}

/** The place that holds the key, for a person. */
export function keyNameOf({ keyVariable }: Preset): string {
  return keyVariable ?? 'the key in git credential';
}

function parseBaseUrl(text: string, preset: Preset): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const name = urlNameOf(preset);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw badSetting('The base URL of the model is not a http or https URL.', `Set ${name}, e.g. to ${preset.url}.`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw badSetting(
      'The base URL of the model has a user name, password or query.',
      `Put the key into ${keyNameOf(preset)} and keep ${name} plain, e.g. ${preset.url}.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

function parseApiKey(apiKey: string, preset: Preset): string {
  if (!/^[\x21-\x7e]*$/.test(apiKey)) {
    throw badSetting(
      'The API key holds spaces or characters that no HTTP header can carry.',
      `Set ${keyNameOf(preset)} to the key alone.`,
    );
  }
  return apiKey;
}

function badSetting(message: string, hint: string): TeddyError {
  return new TeddyError('BAD_SETTING', message, hint);
}
