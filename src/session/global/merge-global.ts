/** Merges two concurrent edits of one file on `teddy/global`. */
import { mergeMemos } from './memos.ts';

/**
 * Merges `mine`, an edit of `base`, into `theirs`. Returns null when only the user can merge them, as with an agent's
 * prompt. Throws as `parseMemos` does.
 */
export function mergeGlobalFile(
  name: string,
  { base, mine, theirs }: { base: string; mine: string; theirs: string },
): string | null {
  if (theirs === base || theirs === mine) return mine;
  if (mine === base) return theirs;
  if (name === 'memos.yaml') return mergeMemos(base, mine, theirs);
  return name === 'global.context' ? mergeLines(base, mine, theirs) : null;
}

/** Applies to `theirs` the lines that `mine` added to or removed from `base`; keeps all other lines of `theirs`. */
export function mergeLines(base: string, mine: string, theirs: string): string {
  const baseLines = new Set(base.split('\n'));
  const mineLines = mine.split('\n').filter((line) => line !== '');
  const removed = new Set([...baseLines].filter((line) => line !== '' && !mineLines.includes(line)));
  const kept = theirs.split('\n').filter((line) => line !== '' && !removed.has(line));
  const added = mineLines.filter((line) => !baseLines.has(line) && !kept.includes(line));
  return [...kept, ...added].map((line) => `${line}\n`).join('');
}
