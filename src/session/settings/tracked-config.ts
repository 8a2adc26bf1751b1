/**
 * Reads `.teddy/config.yaml`: settings that travel with the project. Anybody may have written the file, so it can set
 * little, and problems in it are only warnings.
 */
import type { PathMatcher } from '../paths/context-glob.ts';
import { parseSetting, shorten } from './decide-setting.ts';
import { settingOf, settings, type SettingName } from './settings.ts';

export interface TrackedConfig {
  values: Map<SettingName, string>;
  /** The patterns of `promise.allow`: files that may change without a plan that names them. */
  allowed: PathMatcher[];
  warnings: string[];
}

/** No handwritten file is this large. */
export const maxTrackedConfigBytes = 16 * 1024;

export const trackedConfigPath = '.teddy/config.yaml';
const path = trackedConfigPath;
/** A list of globs, which no setting of git's configuration is. */
const allowKey = 'promise.allow';
const trackable = settings.filter(({ tracked }) => tracked).map(({ name }) => name);

export async function parseTrackedConfig(text: string): Promise<TrackedConfig> {
  const pairs = await readPairs(text);
  if (typeof pairs === 'string') return ignoredConfig(pairs);
  const values = new Map<SettingName, string>();
  const allowed: PathMatcher[] = [];
  const warnings: string[] = [];
  const refused: string[] = [];
  for (const [key, value] of pairs) {
    if (key === allowKey) {
      const compiled = await compileGlobs(value);
      allowed.push(...compiled.filter((one) => typeof one === 'function'));
      for (const one of compiled) if (typeof one === 'string') warnings.push(`${path}: ${one}.`);
      continue;
    }
    const name = trackable.find((one) => one === key);
    if (name === undefined) {
      refused.push(shorten(key));
      continue;
    }
    const parsed = typeof value === 'string' ? parseTracked(name, value) : { problem: 'it takes one plain value' };
    if ('problem' in parsed) warnings.push(`${path}: ${name} is ignored: ${parsed.problem}.`);
    else values.set(name, parsed.value);
  }
  if (refused.length > 0) warnings.push(toRefusal(refused));
  return { values, allowed, warnings };
}

/** Returns a matcher or a warning for each pattern. */
async function compileGlobs(value: string | string[] | null): Promise<(PathMatcher | string)[]> {
  const globs = typeof value === 'string' ? [value] : (value ?? []);
  if (globs.length === 0) return [`${allowKey} is ignored: it takes a list of paths`];
  const { compileGlob } = await import('../paths/context-glob.ts');
  return globs.map((glob) => {
    const compiled = compileGlob(glob);
    return 'problem' in compiled ? `${allowKey} ignores ${shorten(glob)}: ${compiled.problem}` : compiled;
  });
}

function parseTracked(name: SettingName, text: string): ReturnType<typeof parseSetting> {
  const parsed = parseSetting(name, text);
  if ('problem' in parsed) return parsed;
  const { takes, untracked } = settingOf(name);
  if (takes === 'trailer' && !harmlessTrailer.test(parsed.value))
    return {
      problem:
        'in this file it must begin with Assisted-by, Generated-by or AI-, and contain only letters, spaces and -:.,()[] around its placeholders',
    };
  if (!untracked?.includes(parsed.value)) return parsed;
  return { problem: `only your own configuration may set that: \`git config teddy.${name} ${parsed.value}\`` };
}

/** Matches trailers that speak for no person, close no issue, mention no user and link to nothing. */
const harmlessTrailer = /^(?:true|false|(?:assisted-by|generated-by|ai-[a-z-]+): [a-z :.,()[\]{}-]*)$/i;

/** Makes the result for a file that teddy does not read at all; `reason` continues a sentence after `ignored:`. */
export function ignoredConfig(reason: string): TrackedConfig {
  return { values: new Map(), allowed: [], warnings: [`${path} is ignored: ${reason}.`] };
}

type Yaml = typeof import('yaml');

/**
 * Reads names and plain values as written, and lists of such values; null for a value of another kind. Returns a reason
 * when the text is unreadable.
 */
async function readPairs(text: string): Promise<[string, string | string[] | null][] | string> {
  // Load these only when needed, because few projects have the file.
  const [yaml, { isDeeplyNested }] = await Promise.all([import('yaml'), import('../yaml/untrusted-yaml.ts')]);
  if (isDeeplyNested(new yaml.Lexer().lex(text))) return 'it is nested, and not a plain list of `name: value`';
  const document = parse(yaml, text);
  if (typeof document === 'string') return document;
  const { contents } = document;
  if (contents === null || (yaml.isScalar(contents) && contents.value === null)) return [];
  if (!yaml.isMap(contents)) return 'it is not a plain list of `name: value`';
  return contents.items.map((pair) => [
    toPlain(yaml, pair.key) ?? '?',
    toPlain(yaml, pair.value) ?? toList(yaml, pair.value),
  ]);
}

function parse({ parseDocument }: Yaml, text: string) {
  const document = parseDocument(text, { logLevel: 'error', prettyErrors: false });
  // Warnings are about unknown tags.
  const [fault] = [...document.errors, ...document.warnings];
  return fault === undefined ? document : `it is not plain YAML (${firstLine(fault.message)})`;
}

/** Returns a plain value. Does not follow aliases, so that nothing can grow; keeps a number as written. */
function toPlain({ isScalar }: Yaml, node: unknown): string | null {
  if (!isScalar(node) || node.value === null || node.anchor !== undefined) return null;
  return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
}

/** Returns the plain values of a list; null for anything else. */
function toList(yaml: Yaml, node: unknown): string[] | null {
  if (!yaml.isSeq(node) || node.anchor !== undefined) return null;
  const values = node.items.map((item) => toPlain(yaml, item));
  return values.every((value) => value !== null) ? values : null;
}

function toRefusal(names: string[]): string {
  const shown = names.slice(0, 5).join(', ');
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return `${path} cannot set ${shown}${more}: it is tracked, so anybody may have written it. It may set ${[...trackable, allowKey].join(', ')}; \`git config teddy.<name>\` sets the others.`;
}

function firstLine(text: string): string {
  return shorten(text.split('\n')[0] ?? '').replace(/[.:]$/, '');
}
