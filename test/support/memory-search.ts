/** The work of `git grep`, on texts in memory. */
import { TeddyError } from '../../src/errors.ts';
import type { TextHits, TextQuery } from '../../src/ports/git.ts';
import type { RepoPath } from '../../src/names.ts';

export function searchTexts(files: { path: RepoPath; bytes: Uint8Array }[], query: TextQuery): TextHits[] {
  if (query.signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted while searching the project.');
  const matches = compile(query);
  return files
    .filter(({ path, bytes }) => isMeant(path, query) && !bytes.subarray(0, 8000).includes(0))
    .map(({ path, bytes }) => ({ path, lines: findLines(new TextDecoder().decode(bytes), matches) }))
    .filter(({ lines }) => lines.length > 0)
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function isMeant(path: RepoPath, query: TextQuery): boolean {
  if (path.startsWith('.teddy/')) return false;
  return query.path === null || path === query.path || path.startsWith(`${query.path}/`);
}

function compile({ text, isRegex, ignoresCase }: TextQuery): (line: string) => boolean {
  const source = isRegex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  try {
    const expression = new RegExp(source, ignoresCase ? 'i' : '');
    return (line) => expression.test(line);
  } catch (error) {
    throw new TeddyError('ACTION_FAILED', `git could not search: ${(error as Error).message}.`);
  }
}

function findLines(text: string, matches: (line: string) => boolean): number[] {
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.flatMap((line, at) => (matches(line) ? [at + 1] : []));
}
