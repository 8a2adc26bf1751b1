/** Two edits of one file of `teddy/global`, made at the same time. */
import { mergeMemos } from './memos.ts';

/**
 * `mine` was made from `base`, while the file has become `theirs`. Null: only a person can bring them together, as with
 * an agent's prompt. Throws as `parseMemos`.
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

/** Lines that one side added or removed against a base, applied to another text; its other lines stay as they are. */
export function mergeLines(base: string, mine: string, theirs: string): string {
  const baseLines = new Set(base.split('\n'));
  const mineLines = mine.split('\n').filter((line) => line !== '');
  const removed = new Set([...baseLines].filter((line) => line !== '' && !mineLines.includes(line)));
  const kept = theirs.split('\n').filter((line) => line !== '' && !removed.has(line));
  const added = mineLines.filter((line) => !baseLines.has(line) && !kept.includes(line));
  return [...kept, ...added].map((line) => `${line}\n`).join('');
}
