/** Two edits of one file of `teddy/global`, made at the same time. */
import { mergeLines } from './global-files.ts';
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
