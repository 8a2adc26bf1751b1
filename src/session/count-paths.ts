/**
 * How many paths differ between two trees, without naming one: a few small trees that hold each other many times over have
 * billions of them, and git would list them all before it says a word. Each pair of trees is read once.
 */
import type { TreeEntry } from '../ports/git.ts';
import type { Oid } from '../names.ts';

/** More than anybody changes in one go. */
export const maxChangedPaths = 1_000_000;
/** git's own default. */
const maxDepth = 2048;

/** Null: no tree. Beyond the limit the count ends, and is more than it; Infinity: they lie too deep. */
export function pathCounter(
  readTree: (oid: Oid) => Promise<TreeEntry[]>,
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
    for (const [was, is] of pair(await read(before), await read(after))) {
      if (was?.oid === is?.oid && was?.mode === is?.mode) continue;
      total += 1 + (await count(toTree(was), toTree(is), depth + 1));
      if (total > maxChangedPaths) break;
    }
    counts.set(key, total);
    return total;
  }

  return (before, after) => count(before, after, 0);
}

function pair(old: TreeEntry[], now: TreeEntry[]): [TreeEntry | undefined, TreeEntry | undefined][] {
  const oldByName = new Map(old.map((entry) => [entry.name, entry]));
  const nowNames = new Set(now.map(({ name }) => name));
  return [
    ...now.map((entry): [TreeEntry | undefined, TreeEntry] => [oldByName.get(entry.name), entry]),
    ...old.filter(({ name }) => !nowNames.has(name)).map((entry): [TreeEntry, undefined] => [entry, undefined]),
  ];
}

function toTree(entry: TreeEntry | undefined): Oid | null {
  return entry?.mode === '40000' ? entry.oid : null;
}
