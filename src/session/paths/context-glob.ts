/** Globs of a context list. Apart from its callers, because most lists have none and picomatch takes its time to load. */
import picomatch from 'picomatch';

/**
 * A regular expression tries every way to share a name out among the wildcards of a part, and each part multiplies that:
 * with more than these a hostile name takes minutes. One wildcard a part, as in most patterns, leaves nothing to try.
 */
const maxGuesses = 2;
const maxDeepParts = 4;
const maxChoices = 4;

export type PathMatcher = (path: string) => boolean;

/**
 * `pattern` has `/` between its parts. Without one it matches at every depth; with one, a leading one as well, it is
 * anchored to the project's root; with one at its end it matches everything below such a directory. `*` and `?` stay
 * within a part, `**` does not; `[...]` and `{a,b}` are known. Upper and lower case differ, and names may begin with a dot.
 */
export function compileGlob(pattern: string): PathMatcher | { problem: string } {
  if (isCostly(pattern)) return { problem: 'it has too many wildcards; name the directory' };
  const named = pattern.replace(/\/+$/, '');
  const anchored = named.includes('/') ? named.replace(/^\/+/, '') : `**/${named}`;
  const glob = named === pattern ? anchored : `${anchored}/**/*`;
  // Characters that are special to regular expressions or shells alone stand for themselves, the same as in .gitignore.
  const plain = glob.replace(/[()|+$\\]|(?<!\[)\^/g, '\\$&').replaceAll('[!', '[^');
  const matches = picomatch(plain, { dot: true, nonegate: true });
  return (path) => matches(path);
}

function isCostly(pattern: string): boolean {
  const stars = pattern.split('/').map((part) => (part === '**' ? 0 : (part.match(/\*+/g) ?? []).length));
  const guesses = stars.reduce((sum, count) => sum + Math.max(0, count - 1), 0);
  const deepParts = pattern.split('/').filter((part) => part === '**').length;
  const choices = pattern.match(/\{/g)?.length ?? 0;
  return guesses > maxGuesses || deepParts > maxDeepParts || choices > maxChoices;
}
