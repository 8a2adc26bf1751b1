/** `.teddyignore`: which files directories and globs leave out. Apart from its callers: most projects have no such file. */
import ignore from 'ignore';

/** A `.teddyignore` file; `directory` is empty for the project's root. */
export interface IgnoreFile {
  directory: string;
  text: string;
}

export type IsIgnored = (path: string) => boolean;

/** With the rules of `.gitignore`: a deeper file goes before an upper one, a later line before an earlier one. */
export function readIgnoreFiles(files: readonly IgnoreFile[]): IsIgnored {
  const byDepth = files.toSorted((a, b) => depthOf(a.directory) - depthOf(b.directory));
  const rules = ignore({ ignoreCase: false, allowRelativePaths: true });
  rules.add(byDepth.flatMap(({ directory, text }) => toRules(directory, text)).flatMap(toCheapRule));
  return (path) => rules.ignores(path);
}

function depthOf(directory: string): number {
  return directory === '' ? 0 : directory.split('/').length;
}

/** The lines of a nested file as the root's file would have to write them, so that one set of rules decides. */
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
 * A regular expression tries every way to share a path out among the wildcards of a rule, and whoever pushes a branch may
 * have written the rule: with more than these a single deep path takes minutes.
 */
const maxDeepParts = 2;
const maxStars = 2;

/** A rule that would be too costly takes out more than it says; one that puts files back puts none back. */
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

/** The last part may be `**` as well: nothing follows it that could be tried. */
function toFewDeepParts(parts: string[]): string[] {
  const [first, last] = [parts.indexOf('**'), parts.lastIndexOf('**', -2)];
  const count = parts.slice(0, -1).filter((part) => part === '**').length;
  return count <= maxDeepParts ? parts : [...parts.slice(0, first), ...parts.slice(last)];
}
