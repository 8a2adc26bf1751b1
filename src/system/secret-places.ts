/** Secrets that are told by where they stand: in a header, in an address, behind the name of a credential. */
import type { FoundSecret } from '../session/mask.ts';
import { isSecretValue, isSecretVariable, isVaried } from '../session/secret-values.ts';
import { edge } from './secret-forms.ts';
import { isPassword } from './url-passwords.ts';

/** The last group of each is the secret, and the match ends with it. Each is bounded, so that time grows in step with the text. */
const scheme = new RegExp(
  String.raw`${edge()}([Bb]earer|BEARER|[Bb]asic|BASIC)(?:[ \t]+|%20|\+)["']?([\w.~+/=|:-]{8,4000})`,
  'g',
);
const header =
  /(?:[Aa]uthorization|AUTHORIZATION)(?:\\?["'])?\]?[ \t]{0,4}[:=,][ \t]{0,4}(\\?["'`])?(?:(?!(?:[Bb]earer|BEARER|[Bb]asic|BASIC)\b)[A-Za-z][\w-]{1,20}[ \t]+)?([\w.~+/=|:-]{12,4000})/g;
const parameter = /(?:[?#]|(?<!&)&(?:amp;)?)([\w.-]{1,60})=([\w.~+/%-]{12,4000}={0,2})(?=[\s&#"'`<>)\]}\\,;]|$)/g;
const curlUser = /\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ \t=]*["']?[^\s:"'`$]{1,60}:([^\s"'`]{4,200})/g;
/** The name ends where its group does; a number or a place may follow, as in `API_KEY_2`. */
const assigned =
  /([Kk]ey|KEY|[Tt]oken|TOKEN|[Ss]ecret|SECRET|[Pp]assword|PASSWORD)(?:[_-][A-Za-z0-9]{1,12}|\d{1,2})?(?:\\?["'])?\]?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}(\\?["'`])?([\w+/=~-]{16,400})(?![\w.([$])/g;

/** Names that parameters of signed addresses have, besides those of `isSecretVariable`. */
const signature = /^(?:sig|signature|x-(?:amz|goog|oss)-(?:signature|security-token))$/i;

/** The names that OAuth and forges give to what logs in, without what separates their words. `API_KEY` may be anything. */
const credential = /(?:access|refresh|bearer|private|session)token$|(?:client|app|consumer)secret$|secretaccesskey$/;
/** Providers whose tokens have no form of their own. */
const provider =
  /adafruit|adobe|airtable|algolia|alibaba|amplitude|artifactory|asana|atlassian|aws|azure|bitbucket|bittrex|cloudflare|codecov|cohere|coinbase|confluence|confluent|contentful|datadog|deepseek|discord|droneci|dropbox|etsy|facebook|fastly|finicity|finnhub|flickr|freshbooks|gitea|gitter|gocardless|heroku|hubspot|intercom|jfrog|jira|kraken|kucoin|launchdarkly|linkedin|looker|mailchimp|mailgun|mapbox|mattermost|meraki|messagebird|mistral|netlify|newrelic|nytimes|okta|opsgenie|pagerduty|plaid|postmark|pusher|rapidapi|rollbar|sendbird|sentry|snyk|sonar|spotify|squarespace|sumo|telegram|travis|trello|twilio|twitch|twitter|zendesk/;

export function findByPlace(text: string): FoundSecret[] {
  return [
    ...find(text, scheme, (value, [, name = '']) => {
      if (name.toLowerCase() !== 'basic') return isCredential(value) ? 'bearer token' : null;
      return holdsPassword(value) ? 'basic auth' : null;
    }),
    ...find(text, header, (value, [, quote]) => (isLiteral(value, quote) ? 'authorization' : null)),
    ...find(text, parameter, (value, [, name = '']) => {
      const isNamed = isSecretVariable(name) || signature.test(name);
      return isNamed && isLiteral(value, undefined) ? 'url token' : null;
    }),
    ...find(text, curlUser, (value) => (isPassword(value) ? 'basic auth' : null)),
    ...find(text, assigned, (value, [, word = '', quote], at) => {
      if (!isLiteral(value, quote) || countDigits(value) < fewestDigits) return null;
      const before = text.slice(Math.max(0, at - 60), at);
      if (/[?&#;][\w.-]*$/.test(before)) return null; // The parameter of an address.
      const joined = `${/[\w.-]*$/.exec(before)?.[0]}${word}`.toLowerCase().replace(/[^a-z0-9]/g, '');
      const isKnown = provider.test(joined) || (credential.test(joined) && !uuid.test(value));
      return isKnown && !/012345|123456789/.test(value) ? 'credential' : null;
    }),
  ];
}

/** `toKind` gets the secret, the groups, and where the match begins; null: it is none. */
function find(
  text: string,
  place: RegExp,
  toKind: (secret: string, groups: readonly (string | undefined)[], at: number) => string | null,
): FoundSecret[] {
  return [...text.matchAll(place)].flatMap((match) => {
    const end = match.index + match[0].length;
    const whole = match.at(-1) ?? '';
    // The dot or the colon of the sentence; an ellipsis stands for what was left out.
    const secret = whole.replace(/[.:|]+$/, '');
    const kind = whole.endsWith('...') ? null : toKind(secret, match, match.index);
    return kind === null ? [] : [{ start: end - whole.length, end: end - whole.length + secret.length, kind }];
  });
}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
/** A name in code has fewer, a random text of this length hardly ever. */
const fewestDigits = 3;

function countDigits(value: string): number {
  return value.replace(/\D/g, '').length;
}

function isCredential(value: string): boolean {
  return isSecretValue(value) && isVaried(value) && !/(?:^|[_-])(?:your|example)[_-]/i.test(value);
}

/** False for what code may have there without quotes: `config.authToken2`. */
function isLiteral(value: string, quote: string | undefined): boolean {
  const isName = quote === undefined && /^[A-Za-z_]\w*(?:[.:]+\w+)*$/.test(value) && countDigits(value) < fewestDigits;
  return !isName && isCredential(value);
}

/** True for base64 of `user:password`. */
function holdsPassword(value: string): boolean {
  const text = Buffer.from(value, 'base64').toString('utf8');
  const [, password = ''] = /^[^:]{0,200}:(.+)$/s.exec(text) ?? [];
  return !/[\p{Cc}\uFFFD]/u.test(text) && isPassword(password);
}
