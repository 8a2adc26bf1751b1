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
  rules.add(byDepth.flatMap(({ directory, text }) => toRules(directory, text)));
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
