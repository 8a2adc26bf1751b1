/** A context list's globs, in a separate module, because most lists have none and picomatch takes time to load. */
import picomatch from 'picomatch';

/**
 * A regular expression tries every way to split a name among a part's wildcards, and the parts multiply, so with more
 * wildcards a hostile name takes minutes. With one wildcard per part, as in most patterns, there is nothing to try.
 */
const maxGuesses = 2;
const maxDeepParts = 4;
const maxChoices = 4;

export type PathMatcher = (path: string) => boolean;

/**
 * Compiles a pattern with `/` between its parts. Without a `/`, the pattern matches at every depth; with one, even a
 * leading one, it is anchored to the project's root; with a trailing one, it matches everything below the directory.
 * `*` and `?` match within a part, `**` across parts; `[...]` and `{a,b}` work. Matching is case-sensitive, and names
 * may begin with a dot.
 */
export function compileGlob(pattern: string): PathMatcher | { problem: string } {
  if (isCostly(pattern)) return { problem: 'it has too many wildcards; name the directory' };
  const named = pattern.replace(/\/+$/, '');
  const anchored = named.includes('/') ? named.replace(/^\/+/, '') : `**/${named}`;
  const glob = named === pattern ? anchored : `${anchored}/**/*`;
  // Characters that are special only to regular expressions or shells are literal, as in .gitignore.
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
