/**
 * Counts the paths that differ between two trees without listing them. A few small trees that contain each other many
 * times have billions of paths, and git would list them all before printing anything. Reads each pair of trees once.
 */
import type { TreeEntry } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';

/** No real commit changes more paths. */
export const maxChangedPaths = 1_000_000;
/** git's own default. */
const maxDepth = 2048;

/**
 * Returns a counting function; pass null for a missing tree. Beyond the limit, counting stops with a number above the
 * limit; Infinity means too deeply nested. Calls `spend` for each path and stops when it returns false, so that
 * concurrent counts can share a limit.
 */
export function pathCounter(
  readTree: (oid: Oid) => Promise<TreeEntry[]>,
  spend = () => true,
): (before: Oid | null, after: Oid | null) => Promise<number> {
  const counts = new Map<string, number>();
  const read = async (tree: Oid | null) => (tree === null ? [] : readTree(tree));

  async function count(before: Oid | null, after: Oid | null, depth: number): Promise<number> {
    if (before === after) return 0;
    if (depth > maxDepth) return Infinity;
    const key = `${before}:${after}`;
    const known = counts.get(key);
    if (known !== undefined) return known;
    let total = 0;
    for (const [was, is] of pairDifferent(...(await Promise.all([read(before), read(after)])))) {
      total += 1 + (await count(toTree(was), toTree(is), depth + 1));
      if (total > maxChangedPaths || !spend()) break;
    }
    counts.set(key, total);
    return total;
  }

  return (before, after) => count(before, after, 0);
}

/** Pairs the differing entries, and skips equal ones at both ends: a large directory changes in one or two places. */
function pairDifferent(old: TreeEntry[], now: TreeEntry[]): [TreeEntry | undefined, TreeEntry | undefined][] {
  const shorter = Math.min(old.length, now.length);
  let [before, after] = [0, 0];
  while (before < shorter && isSame(old[before], now[before])) before += 1;
  while (after < shorter - before && isSame(old.at(-1 - after), now.at(-1 - after))) after += 1;
  const oldByName = new Map(old.slice(before, old.length - after).map((entry) => [entry.name, entry]));
  const pairs: [TreeEntry | undefined, TreeEntry | undefined][] = [];
  for (const entry of now.slice(before, now.length - after)) {
    const was = oldByName.get(entry.name);
    oldByName.delete(entry.name);
    if (!isSame(was, entry)) pairs.push([was, entry]);
  }
  for (const entry of oldByName.values()) pairs.push([entry, undefined]);
  return pairs;
}

function isSame(a: TreeEntry | undefined, b: TreeEntry | undefined): boolean {
  return a === b || (a?.name === b?.name && a?.oid === b?.oid && a?.mode === b?.mode);
}

export function toTree(entry: TreeEntry | undefined): Oid | null {
  return entry?.mode === '40000' ? entry.oid : null;
}
