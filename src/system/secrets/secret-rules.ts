/** Finds secrets by their form, with the rules of secretlint's recommended preset. */
import type { FoundSecret } from '../../session/masks/mask.ts';
import { isSecretValue } from '../../session/masks/secret-values.ts';
import { findServerPasswords, findWebPasswords } from './url-passwords.ts';

type Rule = (typeof import('@secretlint/secretlint-rule-preset-recommend'))['rules'][number];
type RuleContext = Parameters<Rule['create']>[0];
type RuleSource = Parameters<NonNullable<ReturnType<Rule['create']>['file']>>[0];

/** A rule's finding. `value` is the secret; some rules include the text around it. */
interface RuleReport {
  messageId: string;
  value: string;
  /** For some rules, the start of the name that precedes the secret. */
  start: number;
  end: number;
}

interface RuleUse {
  /** The rule finds nothing in a text without any of these marks. Most texts need no rule, so teddy loads nothing for them. */
  marks: string[];
  /** The rule also finds nothing in a text without this keyword. */
  keyword?: RegExp;
  /** The kinds by message ID; null for a finding that is not a secret. */
  kinds: Record<string, string | null>;
  /** The rule works only if it takes the text for a file with one of these paths. */
  paths?: string[];
  options?: object;
  /** By message ID: an expression that finds the secret itself within the reported value. */
  narrow?: Record<string, RegExp>;
  /** Runs in place of the rule. */
  find?: (text: string) => FoundSecret[];
}

const userInfo = /:\/\/[^:/\s]{0,100}:[^@/\s]{1,200}@/;

const prefix = '@secretlint/secretlint-rule-';

/** By rule ID without the prefix. A rule that is not listed here runs on every text. */
const ruleUses: Record<string, RuleUse> = {
  aws: {
    // The rule recognizes only these spellings.
    marks: [
      ...'A3T AKIA AGPA AIDA AROA AIPA ANPA ANVA ASIA'.split(' '),
      ...['SECRET', 'secret', 'Secret']
        .flatMap((word) => [word, `${word}_`])
        .flatMap((word) => ['ACCESS', 'access', 'Access'].map((next) => word + next)),
    ],
    // Every ARN contains an account number, and AWS does not consider it a secret.
    kinds: { AWSAccessKeyID: 'aws access key', AWSSecretAccessKey: 'aws secret key', AWSAccountID: null },
    options: { enableIDScanRule: true },
  },
  // The rule recognizes a service account only as a whole file, and reads PKCS12 files from disk.
  gcp: { marks: ['"private_key_id"'], kinds: {}, find: findServiceAccount },
  privatekey: { marks: ['PRIVATE KEY'], kinds: { PrivateKey: 'private key' } },
  npm: {
    marks: ['npm_', 'x-oauth-basic', '_authToken='],
    kinds: { PackageJSON_xOauthToken: 'github token', Npmrc_authToken: 'npm token', NPM_ACCESS_TOKEN: 'npm token' },
    // An output or a message may quote either file.
    paths: ['package.json', '.npmrc'],
    // The rule mistakes the rest of the line, or everything before the token, for the token.
    narrow: { PackageJSON_xOauthToken: /([^\s/"'@]+)$/, Npmrc_authToken: /^["']?([^\s"',;`]+)/ },
  },
  basicauth: { marks: ['://'], keyword: userInfo, kinds: {}, find: findWebPasswords },
  slack: {
    marks: ['xoxa-', 'xoxb-', 'xoxo-', 'xoxp-', 'xoxr-', 'xapp-', '://'],
    keyword: /xox[abopr]-|xapp-|hooks\.slack\.com/i,
    kinds: { SLACK_TOKEN: 'slack token', IncomingWebhook: 'slack webhook' },
  },
  sendgrid: { marks: ['SG.'], kinds: { SENDGRID_KEY: 'sendgrid key' } },
  shopify: { marks: ['shppa_', 'shpca_', 'shpat_', 'shpss_'], kinds: { SHOPIFY_KEY: 'shopify key' } },
  github: { marks: ['gho_', 'ghp_', 'ghr_', 'ghs_', 'ghu_', 'github_pat_'], kinds: { GITHUB_TOKEN: 'github token' } },
  openai: { marks: ['T3BlbkFJ'], kinds: { OPENAI_TOKEN: 'openai key' } },
  anthropic: { marks: ['sk-ant-api0'], kinds: { ANTHROPIC_API_KEY: 'anthropic key' } },
  linear: { marks: ['lin_api_'], kinds: { LINEAR_API_TOKEN: 'linear key' } },
  '1password': { marks: ['ops_ey'], kinds: { OPS_TOKEN: '1password token' } },
  'database-connection-string': { marks: ['://'], keyword: userInfo, kinds: {}, find: findServerPasswords },
};

/** Rules of the preset that teddy does not run. */
export const unusedRules = new Set(['filter-comments']);

/** A rule, and a mark that a text must contain for it. */
export interface RuleRow {
  mark: string;
  rule: string;
}

export function ruleRows(): RuleRow[] {
  return Object.entries(ruleUses).flatMap(([rule, { marks }]) => marks.map((mark) => ({ mark, rule })));
}

/** `marked`: the rules whose marks the text contains. Takes time linear in the text's length. */
export async function findByRules(text: string, marked: ReadonlySet<string>): Promise<FoundSecret[]> {
  const names = new Set([...marked].filter((name) => ruleUses[name]?.keyword?.test(text) ?? true));
  if (names.size === 0) return [];
  const { rules } = await import('@secretlint/secretlint-rule-preset-recommend');
  const found: FoundSecret[] = names.has('privatekey') ? findPrivateKeys(text) : [];
  for (const rule of rules) {
    const name = rule.meta.id.replace(prefix, '');
    if (unusedRules.has(name) || (name in ruleUses && !names.has(name))) continue;
    found.push(...(ruleUses[name]?.find?.(text) ?? (await findByRule(rule, name, text))));
  }
  return found;
}

async function findByRule(rule: Rule, name: string, text: string): Promise<FoundSecret[]> {
  const reports = await runRule(rule, ruleUses[name], text);
  return reports.flatMap((report) => toSecrets(text, name, report));
}

async function runRule(rule: Rule, use: RuleUse | undefined, text: string): Promise<RuleReport[]> {
  const reports: RuleReport[] = [];
  const context = {
    sharedOptions: {},
    createTranslator: () => (messageId: string, data: object) => ({ message: '', messageId, data }),
    ignore: () => undefined,
    report: ({ message, range }: { message: { messageId: string; data?: object }; range: readonly number[] }) => {
      const [start = 0, end = 0] = range;
      reports.push({ messageId: message.messageId, value: toValue(message.data), start, end });
    },
  };
  for (const filePath of use?.paths ?? ['text.txt']) {
    const { file } = rule.create(context as unknown as RuleContext, use?.options ?? {});
    const source = { content: text, filePath, ext: '.txt', contentType: 'text', hasBOM: false };
    await file?.(source as unknown as RuleSource);
  }
  return reports;
}

/** A message's data is the secret; for some rules, it also contains the name of the secret's type. */
function toValue(data: object = {}): string {
  const { typeName: _, ...values } = data as Record<string, unknown>;
  const [value] = Object.values(values);
  return typeof value === 'string' ? value : '';
}

function toSecrets(text: string, name: string, { messageId, value, ...range }: RuleReport): FoundSecret[] {
  const use = ruleUses[name];
  const known = use?.kinds[messageId];
  if (known === null) return [];
  const kind = known ?? name;
  const secret = use?.narrow?.[messageId]?.exec(value)?.[1] ?? value;
  if (messageId === 'Npmrc_authToken' && !isSecretValue(secret)) return [];
  const start = secret === '' ? -1 : text.indexOf(secret, range.start);
  // Some ranges are as long as the secret but begin with the name before it; the value shows the secret's place.
  return start === -1 ? [{ ...range, kind }] : [{ start, end: start + secret.length, kind }];
}

/** Finds a service account's key and its ID, even when another text quotes the file. */
function findServiceAccount(text: string): FoundSecret[] {
  if (!text.includes('"private_key"')) return [];
  const values =
    /"private_key(?:_id"\s*:\s*"([0-9a-f]{20,})|"\s*:\s*"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?:[^"\\]|\\.)*))"/g;
  return [...text.matchAll(values)].map((found) => {
    const end = found.index + found[0].length - 1;
    return { start: end - (found[1] ?? found[2] ?? '').length, end, kind: 'gcp private key' };
  });
}

/** Newlines may be escaped, as in JSON. The key's lines are headers, base64 (a short line only at the end), or empty. */
const newline = String.raw`(?:\r?\n|(?:\\r)?\\n)`;
const headerLine = String.raw`[A-Za-z-]{2,30}: [^\r\n\\]*`;
const keyLine = String.raw`[A-Za-z0-9+/=]{16,}(?=\s|[\\"'\x60]|$)`;
const begin = '-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----';
const end = '-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----';
const armour = new RegExp(
  String.raw`${begin}((?:${newline}[ \t]*(?:${headerLine}|${keyLine}|(?=${newline})))*)(?:(?:${newline}[ \t]*[A-Za-z0-9+/=]{0,15}){0,3}${newline}[ \t]*${end})?`,
  'g',
);
const header = /^[ \t]*[A-Za-z-]{2,30}: .*$/gm;
/** The smallest key in use is longer; `...` and other placeholders are shorter. */
const minBodyLength = 100;

/** Not anchored, because a quoted key has other text before its lines. */
const armourLine = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** The largest key in use has 16 KiB. */
const maxKeyLength = 64 * 1024;
const body = /[A-Za-z0-9+/=]{16,}/g;
/** A line of a key, possibly after a log's time or a diff's sign. */
const longRun = /[A-Za-z0-9+/=]{40,}/;
const maxLineLength = 160;

interface ArmourLine {
  word: string;
  start: number;
  end: number;
}

/** Takes time linear in the length of the text. The results may overlap. */
function findPrivateKeys(text: string): FoundSecret[] {
  const lines = [...text.matchAll(armourLine)].map(({ 0: line, 1: word = '', index }): ArmourLine => {
    return { word, start: index, end: index + line.length };
  });
  const quoted = lines.flatMap((line, at) => {
    if (line.word === 'BEGIN') return findFrom(text, line, lines[at + 1]) ?? [];
    return lines[at - 1]?.word === 'BEGIN' ? [] : (findBefore(text, line, lines[at - 1]?.end ?? 0) ?? []);
  });
  return [...findPlain(text), ...quoted];
}

function findPlain(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const match of text.matchAll(armour)) {
    const key = (match[1] ?? '')
      .replaceAll(/(?:\\r)?\\n/g, '\n')
      .replaceAll(header, '')
      .replaceAll(/\s/g, '');
    if (key.length < minBodyLength) continue;
    found.push({ start: match.index, end: match.index + match[0].trimEnd().length, kind: 'private key' });
  }
  return found;
}

/** Returns the text up to the key's end or, if the end was cut off, up to its last line. */
function findFrom(text: string, { start, end }: ArmourLine, next: ArmourLine | undefined): FoundSecret | null {
  if (next?.word === 'END' && next.start - end <= maxKeyLength) {
    return isKey(text.slice(end, next.start)) ? { start, end: next.end, kind: 'private key' } : null;
  }
  const limit = Math.min(next?.start ?? text.length, end + maxKeyLength);
  let last = end;
  for (let at = text.indexOf('\n', end); at !== -1 && at < limit;) {
    const newline = text.indexOf('\n', at + 1);
    const lineEnd = Math.min(newline === -1 ? text.length : newline, limit);
    if (!isKeyLine(text.slice(at + 1, lineEnd))) break;
    last = lineEnd;
    at = newline;
  }
  const key = text.slice(end, last).trimEnd();
  return isKey(key) ? { start, end: end + key.length, kind: 'private key' } : null;
}

/** Finds the end of a key without its beginning, as `tail` prints it. */
function findBefore(text: string, { start, end }: ArmourLine, limit: number): FoundSecret | null {
  const lineStart = (before: number) => Math.max(text.lastIndexOf('\n', before - 1) + 1, limit);
  let first = lineStart(start);
  // The last line of a key may be short.
  for (let count = 0; first > limit && start - first <= maxKeyLength; count += 1) {
    const above = lineStart(first - 1);
    const line = text.slice(above, first - 1);
    if (!isKeyLine(line) && !(count === 0 && line.length <= maxLineLength)) break;
    first = above;
  }
  return isKey(text.slice(first, start)) ? { start: first, end, kind: 'private key' } : null;
}

function isKeyLine(line: string): boolean {
  return line.length <= maxLineLength && longRun.test(line);
}

/** Documentation has `...` or prose between the lines. */
function isKey(text: string): boolean {
  const length = [...text.matchAll(body)].reduce((sum, [run]) => sum + run.length, 0);
  return length >= minBodyLength && length >= text.replaceAll(/\s/g, '').length / 2;
}
