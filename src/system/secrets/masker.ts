/** Masks secrets: the ones recognized by their form or context, and the values of variables with a secret's name. */
import { TeddyError } from '../../errors.ts';
import type { Masked, Masker, Notices, Settings } from '../../ports/project.ts';
import { applyMasks, type FoundSecret } from '../../session/masks/mask.ts';
import { isSecretValue, isSecretVariable } from '../../session/masks/secret-values.ts';
import { isDotenvName, parseDotenv, readDotenv } from '../settings/dotenv.ts';
import { findSecrets } from './find-secrets.ts';
import { errorReason, fallBackTo } from '../../disk/system-error.ts';

export interface MaskerOptions {
  environment: Record<string, string | undefined>;
  /** The work tree with the `.env` files to read; null without a work tree. */
  root: string | null;
  /** The repository's other work trees, where a line may be checked out and its commands may run. */
  findOtherRoots?: () => Promise<string[]>;
  settings: Pick<Settings, 'get'>;
  notices: Notices;
}

interface KnownSecret {
  value: string;
  kind: string;
}

/** A mask can make the adjacent text look like a secret; this rarely takes more than one round. */
const maxRounds = 4;

/** `mask` throws BAD_SETTING, or MASKING_FAILED when it cannot search a text; it never returns an unmasked text. */
export function masker(options: MaskerOptions): Masker {
  let known: Promise<KnownSecret[] | null> | undefined;
  return {
    async mask(text, path) {
      known ??= readKnown(options);
      const secrets = await known;
      if (secrets === null) return { text, count: 0, found: [] };
      return maskText(text, [...secrets, ...readOwn(text, path)]).catch(refuse);
    },
  };
}

/** A `.env` file may be in any directory; when teddy shows one, the file's own text shows which of its values are secrets. */
function readOwn(text: string, path: string | undefined): KnownSecret[] {
  const name = path?.slice(path.lastIndexOf('/') + 1) ?? '';
  return isDotenvName(name) ? toKnown(parseDotenv(text)) : [];
}

function refuse(error: unknown): never {
  if (error instanceof TeddyError) throw error;
  // The reason may quote the text, so nobody must see it.
  throw new TeddyError(
    'MASKING_FAILED',
    'Some text could not be searched for secrets, so it is neither shown nor stored.',
    'To continue without any masking: `git config teddy.redact false`.',
  );
}

/** Returns null when masking is off. */
async function readKnown({ environment, settings, notices, ...places }: MaskerOptions): Promise<KnownSecret[] | null> {
  if ((await settings.get('redact')) === 'false') {
    notices.warn('Secrets are NOT masked: teddy.redact is false. The model may see keys and passwords.');
    return null;
  }
  const entries = await readEntries(places).catch(refuseDotenv);
  return toKnown([...Object.entries(environment), ...entries]);
}

type Entry = [name: string, value: string];

async function readEntries({ root, findOtherRoots }: Pick<MaskerOptions, 'root' | 'findOtherRoots'>): Promise<Entry[]> {
  const own = root === null ? [] : await readDotenv(root);
  const others = ((await findOtherRoots?.()) ?? []).filter((other) => other !== root);
  return [...own, ...(await Promise.all(others.map(readIfThere))).flat()];
}

/** Git also lists work trees on a disk that is not mounted. */
async function readIfThere(root: string): Promise<Entry[]> {
  return readDotenv(root).catch(fallBackTo([], 'ENOENT'));
}

function refuseDotenv(error: unknown): never {
  if (error instanceof TeddyError) throw error;
  throw new TeddyError(
    'MASKING_FAILED',
    `The .env files could not be read: ${errorReason(error)}.`,
    'teddy needs their values to mask them. Make sure that the files can be read.',
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

/**
 * Returns the value as it appears in plain text, JSON, JSON within JSON, URLs, base64 and hex. Includes each line of
 * the value, because an output may be cut.
 */
function toForms(value: string): string[] {
  if (!isSecretValue(value)) return [];
  const lines = value.includes('\n') ? value.split(/\r?\n/).map((line) => line.trim()) : [];
  const inUrl = encodeUrl(value);
  const lowerUrl = inUrl.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  const inJson = toJson(value);
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const written = [value, inJson, toJson(inJson), toJson(toJson(inJson)), inUrl, lowerUrl, hex, hex.toUpperCase()];
  return [...written, ...toBase64(bytes), ...lines.filter(isSecretValue)];
}

/** Returns the text as it appears in a JSON string; a JSON string becomes JSON within JSON. */
function toJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * Base64 turns three bytes into four characters, so the value looks different after one or two other bytes, as in
 * `user:password`. The forms omit padding and characters shared with the text before; each form comes with and without
 * the characters shared with the text after.
 */
function toBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const own = text.slice(Math.ceil((before * 8) / 6));
    const sure = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [own, sure].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
  });
}

function encodeUrl(value: string): string {
  // A lone half of a surrogate pair has no form in a URL.
  return Buffer.from(value).toString() === value ? encodeURIComponent(value) : value;
}

async function maskText(text: string, known: KnownSecret[]): Promise<Masked> {
  let masked: Masked = { text, count: 0, found: [] };
  for (let round = 0; round < maxRounds; round += 1) {
    const secrets = await findAll(masked.text, known);
    const next = applyMasks(masked.text, secrets);
    if (next.found.length === 0) break;
    masked = { text: next.text, count: masked.count + next.found.length, found: [...masked.found, ...next.found] };
  }
  return masked;
}

async function findAll(text: string, known: KnownSecret[]): Promise<FoundSecret[]> {
  const { formed, placed } = await findSecrets(text);
  const sure = [...findKnown(text, known), ...formed];
  const found = [...sure, ...placed.filter(isNew(sure))];
  return text.includes('\0') ? [...found, ...(await findSpaced(text, known))] : found;
}

/** A secret recognized by its value or form keeps that kind, whatever its context. */
function isNew(found: FoundSecret[]): (secret: FoundSecret) => boolean {
  const starts = new Map(found.map(({ start, end }) => [start, end]));
  return ({ start, end }) => starts.get(start) !== end;
}

/** UTF-16 that was read as UTF-8 has a NUL next to every letter. */
async function findSpaced(text: string, known: KnownSecret[]): Promise<FoundSecret[]> {
  const places: number[] = [];
  for (let at = 0; at < text.length; at += 1) if (text[at] !== '\0') places.push(at);
  const found = await findAll(text.replaceAll('\0', ''), known);
  return found.map(({ start, end, kind }) => ({ start: places[start] ?? 0, end: (places[end - 1] ?? 0) + 1, kind }));
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
