/** Reads `.teddyignore`: files to exclude from directories and globs. A separate module, because few projects have the file. */
import ignore from 'ignore';

/** A `.teddyignore` file; `directory` is empty for the project's root. */
export interface IgnoreFile {
  directory: string;
  text: string;
}

export type IsIgnored = (path: string) => boolean;

/**
 * Applies the rules of `.gitignore`: a deeper file takes precedence over an upper one, and a later line over an earlier
 * one.
 */
export function readIgnoreFiles(files: readonly IgnoreFile[]): IsIgnored {
  const byDepth = files.toSorted((a, b) => depthOf(a.directory) - depthOf(b.directory));
  const rules = ignore({ ignoreCase: false, allowRelativePaths: true });
  rules.add(byDepth.flatMap(({ directory, text }) => toRules(directory, text)).flatMap(toCheapRule));
  return (path) => rules.ignores(path);
}

function depthOf(directory: string): number {
  return directory === '' ? 0 : directory.split('/').length;
}

/** Rewrites a nested file's lines for the root's file, so that one set of rules decides. */
function toRules(directory: string, text: string): string[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  return directory === '' ? lines : lines.flatMap((line) => toRootRule(directory, line));
}

function toRootRule(directory: string, line: string): string[] {
  if (line.trim() === '' || line.startsWith('#')) return [];
  const [mark, pattern] = line.startsWith('!') ? ['!', line.slice(1)] : ['', line];
  const isAnchored = /\/./.test(pattern.replace(/(?<!\\)\s+$/, ''));
  const place = directory.replace(/[\\*?[\] ]/g, '\\$&');
  return [`${mark}/${place}/${isAnchored ? pattern.replace(/^\//, '') : `**/${pattern}`}`];
}

/**
 * A regular expression tries every way to split a path among a rule's wildcards, and anybody who pushes a branch may
 * have written the rule. With more wildcards, a single deep path takes minutes.
 */
const maxDeepParts = 2;
const maxStars = 2;

/** Simplifies a slow rule so that it ignores more. Drops a slow rule that un-ignores files. */
function toCheapRule(rule: string): string[] {
  const parts = rule.split('/');
  const cheap = toFewDeepParts(parts.map(toFewStars)).join('/');
  return cheap !== rule && rule.startsWith('!') ? [] : [cheap];
}

function toFewStars(part: string): string {
  const runs = [...part.matchAll(/\*+/g)];
  const last = runs[maxStars - 1];
  return runs.length <= maxStars || last === undefined ? part : part.slice(0, last.index + last[0].length);
}

/** Drops deep wildcards. The last part may also be `**`, because nothing follows it. */
function toFewDeepParts(parts: string[]): string[] {
  const [first, last] = [parts.indexOf('**'), parts.lastIndexOf('**', -2)];
  const count = parts.slice(0, -1).filter((part) => part === '**').length;
  return count <= maxDeepParts ? parts : [...parts.slice(0, first), ...parts.slice(last)];
}
