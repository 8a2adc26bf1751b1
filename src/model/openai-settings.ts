/** Where requests go and with which key, checked before anything is sent. */
import { TeddyError } from '../errors.ts';

const defaultBaseUrl = 'https://api.openai.com/v1';

export interface Endpoint {
  /** The base URL as it is requested and shown: never with a user name, a password or a query. */
  url: string;
  /** Empty: no `Authorization` header is sent, as local servers like it. */
  apiKey: string;
  /** Where the key comes from; missing: the environment. */
  keyOrigin?: string | undefined;
}

/** An empty or missing `baseUrl` is OpenAI's own. Throws BAD_SETTING for what could never be sent. */
export function parseEndpoint(baseUrl: string | undefined, apiKey: string | undefined, keyOrigin?: string): Endpoint {
  return { url: parseBaseUrl(baseUrl?.trim() || defaultBaseUrl), apiKey: parseApiKey(apiKey?.trim() ?? ''), keyOrigin };
}

function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw badSetting('The base URL of the model is not a http or https URL.', 'Set OPENAI_BASE_URL, e.g. to');
  }
  if (url.username || url.password || url.search || url.hash) {
    throw badSetting(
      'The base URL of the model has a user name, password or query.',
      'Put the key into OPENAI_API_KEY and keep OPENAI_BASE_URL plain, e.g.',
    );
  }
  return url.href.replace(/\/+$/, '');
}

function badSetting(message: string, hint: string): TeddyError {
  return new TeddyError('BAD_SETTING', message, `${hint} ${defaultBaseUrl}.`);
}

function parseApiKey(apiKey: string): string {
  if (!/^[\x21-\x7e]*$/.test(apiKey)) {
    throw new TeddyError(
      'BAD_SETTING',
      'The API key holds spaces or characters that no HTTP header can carry.',
      'Set OPENAI_API_KEY to the key alone.',
    );
  }
  return apiKey;
}
