/** Finds secrets by their context: in a header, in a URL, or after a credential's name. */
import type { FoundSecret } from '../../session/masks/mask.ts';
import { isSecretValue, isSecretVariable, isVaried } from '../../session/masks/secret-values.ts';
import { isEdge } from './find-secret-forms.ts';
import { isPassword } from './url-passwords.ts';

/**
 * Expressions for the text after a mark; the last group is the secret, and the match ends with it. Each has a bound, so
 * that the time is linear in the text's length.
 */
const schemeValue = /(?:[ \t]+|%20|\+)["']?([\w.~+/=|:-]{8,4000})/y;
const headerValue =
  /(?:\\?["'])?\]?[ \t]{0,4}[:=,][ \t]{0,4}(\\?["'`])?(?:(?!(?:[Bb]earer|BEARER|[Bb]asic|BASIC)\b)[A-Za-z][\w-]{1,20}[ \t]+)?([\w.~+/=|:-]{12,4000})/y;
const curlUser = /(?<=\bcurl)\b[^\n]{0,300}?\s(?:-u|--user)[ \t=]*["']?[^\s:"'`$]{1,60}:([^\s"'`]{4,200})/y;
/** The name ends with its mark, possibly followed by a number or another word, as in `API_KEY_2`. */
const assigned =
  /(?:[_-][A-Za-z0-9]{1,12}|\d{1,2})?(?:\\?["'])?\]?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}(\\?["'`])?([\w+/=~-]{16,400})(?![\w.([$])/y;
const parameter = /(?:[?#]|(?<!&)&(?:amp;)?)([\w.-]{1,60})=([\w.~+/%-]{12,4000}={0,2})(?=[\s&#"'`<>)\]}\\,;]|$)/g;

/** Names of parameters in signed URLs, in addition to the names in `isSecretVariable`. */
const signature = /^(?:sig|signature|x-(?:amz|goog|oss)-(?:signature|security-token))$/i;

/** The names that OAuth and code hosts use for credentials, without word separators. `API_KEY` may be anything. */
const credential = /(?:access|refresh|bearer|private|session)token$|(?:client|app|consumer)secret$|secretaccesskey$/;
/** Providers whose tokens have no recognizable form. */
const provider =
  /adafruit|adobe|airtable|algolia|alibaba|amplitude|artifactory|asana|atlassian|aws|azure|bitbucket|bittrex|cloudflare|codecov|cohere|coinbase|confluence|confluent|contentful|datadog|deepseek|discord|droneci|dropbox|etsy|facebook|fastly|finicity|finnhub|flickr|freshbooks|gitea|gitter|gocardless|heroku|hubspot|intercom|jfrog|jira|kraken|kucoin|launchdarkly|linkedin|looker|mailchimp|mailgun|mapbox|mattermost|meraki|messagebird|mistral|netlify|newrelic|nytimes|okta|opsgenie|pagerduty|plaid|postmark|pusher|rapidapi|rollbar|sendbird|sentry|snyk|sonar|spotify|squarespace|sumo|telegram|travis|trello|twilio|twitch|twitter|zendesk/;

interface SecretPattern {
  marks: string[];
  /** No letter may precede the marks. */
  isWord?: true;
  behind: RegExp;
  /**
   * `quote`: the quote before the secret, if any. `name`: the text up to the end of the mark. Returns null for text
   * that is not a secret.
   */
  toKind(secret: string, quote: string | undefined, name: string): string | null;
}

const places: readonly SecretPattern[] = [
  {
    marks: ['Bearer', 'bearer', 'BEARER'],
    isWord: true,
    behind: schemeValue,
    toKind: (value) => (isCredential(value) ? 'bearer token' : null),
  },
  {
    marks: ['Basic', 'basic', 'BASIC'],
    isWord: true,
    behind: schemeValue,
    toKind: (value) => (holdsPassword(value) ? 'basic auth' : null),
  },
  {
    marks: ['Authorization', 'authorization', 'AUTHORIZATION'],
    behind: headerValue,
    toKind: (value, quote) => (isLiteral(value, quote) ? 'authorization' : null),
  },
  { marks: ['curl'], behind: curlUser, toKind: (value) => (isPassword(value) ? 'basic auth' : null) },
  {
    marks: ['Key', 'Token', 'Secret', 'Password'].flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]),
    behind: assigned,
    toKind(value, quote, name) {
      if (!isLiteral(value, quote) || countDigits(value) < fewestDigits) return null;
      if (/[?&#;][\w.-]*$/.test(name)) return null; // A parameter of a URL.
      const joined = (/[\w.-]*$/.exec(name)?.[0] ?? '').toLowerCase().replace(/[^a-z0-9]/g, '');
      const isKnown = provider.test(joined) || (credential.test(joined) && !uuid.test(value));
      return isKnown && !/012345|123456789/.test(value) ? 'credential' : null;
    },
  },
];

export interface PlaceRow {
  mark: string;
  place: SecretPattern;
}

export function placeRows(): PlaceRow[] {
  return places.flatMap((place) => place.marks.map((mark) => ({ mark, place })));
}

/** Returns a function that takes each mark of `text` from left to right and adds the secret after it to `found`. */
export function placeReader(text: string, found: FoundSecret[]): (row: PlaceRow, at: number) => void {
  /** The end of each expression's last match; no other match begins inside that match. */
  const taken = new Map<RegExp, number>();
  return ({ mark, place: { isWord, behind, toKind } }, at) => {
    if (at < (taken.get(behind) ?? 0) || (isWord && !isEdge(text, at))) return;
    behind.lastIndex = at + mark.length;
    const match = behind.exec(text);
    if (match === null) return;
    taken.set(behind, behind.lastIndex);
    const name = text.slice(Math.max(0, at - 60), at + mark.length);
    found.push(...toSecret(behind.lastIndex, match.at(-1) ?? '', (secret) => toKind(secret, match[1], name)));
  };
}

/** Finds secrets in URL parameters, which have no mark to look for. */
export function findParameters(text: string): FoundSecret[] {
  return [...text.matchAll(parameter)].flatMap((match) => {
    const [whole, name = '', value = ''] = match;
    const isNamed = isSecretVariable(name) || signature.test(name);
    const toKind = (secret: string) => (isNamed && isLiteral(secret, undefined) ? 'url token' : null);
    return toSecret(match.index + whole.length, value, toKind);
  });
}

/** `end` is the end of the value. */
function toSecret(end: number, value: string, toKind: (secret: string) => string | null): FoundSecret[] {
  // Removes the sentence's own dot or colon; an ellipsis stands for omitted text.
  const secret = value.replace(/[.:|]+$/, '');
  const kind = value.endsWith('...') ? null : toKind(secret);
  const start = end - value.length;
  return kind === null ? [] : [{ start, end: start + secret.length, kind }];
}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
/** A name in code has fewer digits, and a random text of this length almost never does. */
const fewestDigits = 3;

function countDigits(value: string): number {
  return value.replace(/\D/g, '').length;
}

function isCredential(value: string): boolean {
  return isSecretValue(value) && isVaried(value) && !/(?:^|[_-])(?:your|example)[_-]/i.test(value);
}

/** Returns false for text that code may contain in this place without quotes, such as `config.authToken2`. */
function isLiteral(value: string, quote: string | undefined): boolean {
  const isName = quote === undefined && /^[A-Za-z_]\w*(?:[.:]+\w+)*$/.test(value) && countDigits(value) < fewestDigits;
  return !isName && isCredential(value);
}

/** Returns true for base64 of `user:password`. */
function holdsPassword(value: string): boolean {
  const text = Buffer.from(value, 'base64').toString('utf8');
  const [, password = ''] = /^[^:]{0,200}:(.+)$/s.exec(text) ?? [];
  return !/[\p{Cc}\uFFFD]/u.test(text) && isPassword(password);
}
