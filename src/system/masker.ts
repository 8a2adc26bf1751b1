/** Masks secrets: what secretlint's rules find, and the values of variables that are named like a secret. */
import { TeddyError } from '../errors.ts';
import type { Masked, Masker, Notices, Settings } from '../ports.ts';
import { applyMasks, type FoundSecret } from '../session/mask.ts';
import { isSecretValue, isSecretVariable } from '../session/secret-values.ts';
import { readDotenv } from './dotenv.ts';
import { findByRules } from './secret-rules.ts';
import { errorReason } from './system-error.ts';

export interface MaskerOptions {
  environment: Record<string, string | undefined>;
  /** The work tree whose `.env` files are read; null: there is none. */
  root: string | null;
  settings: Pick<Settings, 'get'>;
  notices: Notices;
}

interface KnownSecret {
  value: string;
  kind: string;
}

/** What is masked can make what stands beside it look like a secret; more than one round is hardly ever needed. */
const maxRounds = 4;

/** `mask` throws BAD_SETTING, and MASKING_FAILED where a text could not be looked through: never an unmasked text. */
export function masker(options: MaskerOptions): Masker {
  let known: Promise<KnownSecret[] | null> | undefined;
  return {
    async mask(text) {
      known ??= readKnown(options);
      const secrets = await known;
      return secrets === null ? { text, count: 0, found: [] } : maskText(text, secrets).catch(refuse);
    },
  };
}

function refuse(error: unknown): never {
  if (error instanceof TeddyError) throw error;
  // The reason may quote the text; it is for nobody's eyes.
  throw new TeddyError(
    'MASKING_FAILED',
    'A text could not be searched for secrets, so it is neither shown nor stored.',
    '`git config teddy.redact false` goes on without masking anything.',
  );
}

/** Null: masking is switched off. */
async function readKnown({ environment, root, settings, notices }: MaskerOptions): Promise<KnownSecret[] | null> {
  if (!(await readRedact(settings))) {
    notices.warn('Secrets are NOT masked: teddy.redact is false. What the model is shown may hold keys and passwords.');
    return null;
  }
  const entries = root === null ? [] : await readDotenv(root).catch(refuseDotenv);
  return toKnown([...Object.entries(environment), ...entries]);
}

async function readRedact(settings: Pick<Settings, 'get'>): Promise<boolean> {
  const text = (await settings.get('redact')) ?? 'true';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new TeddyError('BAD_SETTING', `teddy.redact is ${JSON.stringify(text)}.`, 'It is `true` or `false`.');
}

function refuseDotenv(error: unknown): never {
  throw new TeddyError(
    'MASKING_FAILED',
    `The .env files could not be read: ${errorReason(error)}.`,
    'Their values have to be known, so that they are masked; see that the files can be read.',
    { cause: error },
  );
}

function toKnown(entries: [name: string, value: string | undefined][]): KnownSecret[] {
  const known = new Map<string, string>();
  for (const [name, value] of [...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    if (!isSecretVariable(name)) continue;
    const kind = /^[\w.-]{1,80}$/.test(name) ? `env ${name}` : 'env';
    for (const form of toForms(value?.trim() ?? '')) if (!known.has(form)) known.set(form, kind);
  }
  return [...known].map(([value, kind]) => ({ value, kind }));
}

/** The value as it is, as it stands in JSON and in a URL, and each line of it: an output may be cut. */
function toForms(value: string): string[] {
  if (!isSecretValue(value)) return [];
  const lines = value.includes('\n') ? value.split(/\r?\n/).map((line) => line.trim()) : [];
  return [value, JSON.stringify(value).slice(1, -1), encodeUrl(value), ...lines.filter(isSecretValue)];
}

function encodeUrl(value: string): string {
  // A lone half of a surrogate pair has no form in a URL.
  return Buffer.from(value).toString() === value ? encodeURIComponent(value) : value;
}

async function maskText(text: string, known: KnownSecret[]): Promise<Masked> {
  let masked: Masked = { text, count: 0, found: [] };
  for (let round = 0; round < maxRounds; round += 1) {
    const secrets = [...findKnown(masked.text, known), ...(await findByRules(masked.text))];
    const next = applyMasks(masked.text, secrets);
    if (next.found.length === 0) break;
    masked = { text: next.text, count: masked.count + next.found.length, found: [...masked.found, ...next.found] };
  }
  return masked;
}

function findKnown(text: string, known: KnownSecret[]): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const { value, kind } of known) {
    for (let start = text.indexOf(value); start !== -1; start = text.indexOf(value, start + 1)) {
      found.push({ start, end: start + value.length, kind });
    }
  }
  return found;
}
