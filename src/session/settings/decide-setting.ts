/** Takes a setting's value from the first source that has one, and decides whether the value is usable. */
import { TeddyError } from '../../errors.ts';
import { findTemplateProblem } from '../entries/assisted-by.ts';
import { hideCredentials } from '../masks/urls.ts';
import { nearestName } from '../text/name-some.ts';
import { settingOf, settings, type Setting, type SettingName, type ValueKind } from './settings.ts';
import { toShellWord } from '../text/shell-word.ts';

/** A source of settings. */
export interface SettingSource {
  /** The name of the source: `environment OPENAI_BASE_URL`, `git config (local .git/config)`, `.teddy/config.yaml`. */
  origin: string;
  /** Missing or empty when the source does not set a value. */
  text: string | undefined;
}

export interface FoundSetting {
  name: SettingName;
  /** Null when no source sets a value, so that the fallback applies. */
  value: string | null;
  /** The name of the source; `default` when no source sets a value. */
  origin: string;
  /** Why the value is unusable; null when it is usable. */
  problem: string | null;
}

/** Takes the first source that sets the value, even if its value is invalid. */
export function decideSetting(name: SettingName, sources: readonly SettingSource[]): FoundSetting {
  for (const { origin, text } of sources) {
    if (text === undefined || text.trim() === '') continue;
    const parsed = parseSetting(name, text);
    return 'problem' in parsed
      ? { name, value: toShown(name, text), origin, problem: parsed.problem }
      : { name, value: parsed.value, origin, problem: null };
  }
  return { name, value: null, origin: 'default', problem: null };
}

/** Chooses the strictest value, by the setting's order of values, or any invalid one; null when no source sets one. */
export function chooseStrictest(found: readonly FoundSetting[]): FoundSetting | null {
  const rank = ({ name, value }: FoundSetting) => settingOf(name).takes.indexOf(value ?? '');
  const wrong = found.find(({ problem }) => problem !== null);
  return wrong ?? found.filter(({ value }) => value !== null).toSorted((a, b) => rank(b) - rank(a))[0] ?? null;
}

/** Hides a URL, which may be invalid precisely because it contains a password. */
function toShown(name: SettingName, text: string): string {
  return settingOf(name).takes === 'url' ? '(not shown)' : text;
}

/** Returns the value; undefined when no source sets one. Throws BAD_SETTING, which names the source. */
export function requireUsable({ name, value, origin, problem }: FoundSetting): string | undefined {
  if (problem === null) return value ?? undefined;
  const { takes, fallback } = settingOf(name);
  const scope = origin.includes('(global ') ? ' --global' : '';
  throw new TeddyError(
    'BAD_SETTING',
    `teddy.${name} is ${JSON.stringify(shorten(value ?? ''))} (${origin}), and ${problem}.`,
    origin.startsWith('environment ')
      ? `Change or unset ${origin.slice('environment '.length)}.`
      : `Change it with \`git config${scope} teddy.${name} ${/^\d+$/.test(fallback) ? fallback : toExample(takes)}\`.`,
  );
}

/** Explains that the remote needs a name: without remote-tracking branches, deletions there would go unnoticed. */
export function noSessionsRemoteError(name: string, names: readonly string[], isSet = true): TeddyError {
  const label = hideCredentials(name);
  const isName = /^[\w][\w.-]*$/.test(name);
  const add = `\`git remote add ${isName ? name : 'sessions'} ${/^[^-].*[/:]/.test(name) ? toShellWord(label) : '<url>'}\``;
  const set = `\`teddy config set sessionsRemote ${isName ? (findUsualRemote(names) ?? '<name>') : 'sessions'}\``;
  return new TeddyError(
    'UNKNOWN_REMOTE',
    `teddy.sessionsRemote ${isSet ? 'is' : 'cannot be'} ${JSON.stringify(label)}${isSet ? ', and' : ':'} no remote has that name.`,
    isName ? `Add it: ${add}; or name another one: ${set}.` : `Give it a name: ${add}, then ${set}.`,
  );
}

/** Finds the remote that git uses by default. */
export function findUsualRemote(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : names.find((name) => name === 'origin');
}

/** Parses and normalizes a value: booleans become `true` or `false`. `problem` continues a sentence after `and`. */
export function parseSetting(name: SettingName, text: string): { value: string } | { problem: string } {
  const { takes } = settingOf(name);
  if (takes === 'trailer') return parseTrailer(text.trim());
  const value = parseValue(takes, text.trim());
  return value === null ? { problem: `it takes ${toExpectation(takes)}` } : { value };
}

/** Parses a trailer template, or a boolean that stands for the default template. */
function parseTrailer(text: string): ReturnType<typeof parseSetting> {
  const value = parseBoolean(text.toLowerCase());
  if (value !== null) return { value };
  const problem = findTemplateProblem(text);
  return problem === null ? { value: text } : { problem };
}

// Longer timeouts overflow Node's timers, which then fire immediately.
const maxSeconds = 2_147_483;
const maxTextLength = 1000;

function parseValue(takes: Exclude<Setting['takes'], 'trailer'>, text: string): string | null {
  switch (takes) {
    case 'text':
      return text.length <= maxTextLength && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) ? text : null;
    case 'url':
      return isPlainUrl(text) ? text : null;
    case 'count':
      return /^[1-9]\d{0,14}$/.test(text) ? text : null;
    case 'number':
      return isDecimal(text) ? text : null;
    case 'seconds':
      return isDecimal(text) && Number(text) > 0 && Number(text) <= maxSeconds ? text : null;
    case 'boolean':
      return parseBoolean(text.toLowerCase());
    default:
      return takes.includes(text) ? text : null;
  }
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
}

function isDecimal(text: string): boolean {
  return /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text) && Number.isFinite(Number(text));
}

/** Parses git's words for booleans. */
function parseBoolean(text: string): string | null {
  if (['true', 'yes', 'on', '1'].includes(text)) return 'true';
  return ['false', 'no', 'off', '0'].includes(text) ? 'false' : null;
}

function toExpectation(takes: Exclude<Setting['takes'], 'trailer'>): string {
  const expectations: Record<Exclude<ValueKind, 'trailer'>, string> = {
    text: `one line of at most ${maxTextLength} characters, all of them visible`,
    url: 'an http or https URL without user name, password or query',
    count: 'a whole number above 0',
    number: 'a number',
    seconds: `a number of seconds above 0, at most ${maxSeconds}`,
    boolean: 'true or false',
  };
  return typeof takes === 'string' ? expectations[takes] : `one of: ${takes.join(', ')}`;
}

function toExample(takes: Setting['takes']): string {
  const examples: Record<ValueKind, string> = {
    text: '<name>',
    url: '<url>',
    count: '50',
    number: '0.2',
    seconds: '120',
    boolean: 'true',
    trailer: 'true',
  };
  return typeof takes === 'string' ? examples[takes] : (takes[0] ?? '');
}

export function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 60)}...`;
}

/** Parses a typed name: with or without `teddy.`, in any case, because git ignores the case of keys. Throws BAD_SETTING. */
export function parseSettingName(text: string): SettingName {
  const wanted = text.replace(/^teddy\./i, '').toLowerCase();
  const found = settings.find(({ name }) => name.toLowerCase() === wanted);
  if (found !== undefined) return found.name;
  throw new TeddyError(
    'BAD_SETTING',
    `There is no setting ${JSON.stringify(text.slice(0, 60))}.`,
    `${suggestSetting(wanted)}\`teddy config\` lists them all.`,
  );
}

/** Suggests a setting with a similar name, or the setting with this environment variable. */
function suggestSetting(wanted: string): string {
  const ofVariable = settings.find(({ variable }) => variable?.toLowerCase() === wanted);
  const name =
    ofVariable?.name ??
    nearestName(
      wanted,
      settings.map((setting) => setting.name),
    );
  return name === null ? '' : `Is it ${name}? `;
}
