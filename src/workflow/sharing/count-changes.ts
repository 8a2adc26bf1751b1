/**
 * How many paths commits change, without naming one: a few small trees that hold each other many times over have billions of
 * them, and git would list them all before it says a word. Each tree is read once.
 */
import type { Commit, Store, TreeEntry } from '../../ports.ts';
import type { Oid } from '../../session/names.ts';

/** Of all commits of a line together. */
export const maxChangedPaths = 1_000_000;
/** As git itself has it by default. */
const maxDepth = 2048;

export interface ChangeCounter {
  /** Against its first parent. False: with this one it is too many, or they lie too deep. */
  add(commit: Commit): Promise<boolean>;
}

export function changeCounter(store: Store): ChangeCounter {
  const counts = new Map<string, number>();
  let sum = 0;
  const read = async (tree: Oid | null) => (tree === null ? [] : store.readTree(tree));

  /** Null: no tree. */
  async function count(before: Oid | null, after: Oid | null, depth: number): Promise<number> {
    if (before === after) return 0;
    if (depth > maxDepth) return Infinity;
    const key = `${before}:${after}`;
    const known = counts.get(key);
    if (known !== undefined) return known;
    const [old, now] = await Promise.all([read(before), read(after)]);
    const oldByName = new Map(old.map((entry) => [entry.name, entry]));
    const nowNames = new Set(now.map(({ name }) => name));
    const pairs: [TreeEntry | undefined, TreeEntry | undefined][] = [
      ...now.map((entry): [TreeEntry | undefined, TreeEntry] => [oldByName.get(entry.name), entry]),
      ...old.filter(({ name }) => !nowNames.has(name)).map((entry): [TreeEntry, undefined] => [entry, undefined]),
    ];
    let total = 0;
    for (const [was, is] of pairs) {
      if (was?.oid === is?.oid && was?.mode === is?.mode) continue;
      const trees = [was, is].map((entry) => (entry?.mode === '40000' ? entry.oid : null));
      total += 1 + (await count(trees[0] ?? null, trees[1] ?? null, depth + 1));
      if (total > maxChangedPaths) break;
    }
    counts.set(key, total);
    return total;
  }

  return {
    async add({ tree, parents: [parent] }) {
      const isThere = parent !== undefined && (await store.readSize(parent)) !== null;
      sum += await count(isThere ? (await store.readCommit(parent)).tree : null, tree, 0);
      return sum <= maxChangedPaths;
    },
  };
}
