/** Every commit that would leave, each once, whatever parent it is reached by. */
import type { ChangedCommit, Store } from '../../ports.ts';
import type { Oid } from '../../session/names.ts';

interface Walk {
  from: Oid;
  not: readonly Oid[];
}

/** What `tips` reach and `known` does not; each with what it changed against its first parent. */
export async function* walkNewCommits(
  store: Store,
  tips: readonly Oid[],
  known: readonly Oid[],
): AsyncGenerator<ChangedCommit> {
  const seen = new Set<Oid>();
  const unique = [...new Set(tips)];
  for (const [at, tip] of unique.entries()) {
    const waiting: Walk[] = [{ from: tip, not: [...known, ...unique.slice(0, at)] }];
    for (let walk = waiting.pop(); walk !== undefined; walk = waiting.pop()) {
      for await (const changed of store.walkChanges(walk.from, walk.not)) {
        if (seen.has(changed.oid)) continue;
        seen.add(changed.oid);
        yield changed;
        waiting.push(...toMerged(changed, walk.not));
      }
    }
  }
}

/** What a merge has brought in leaves as well, commit by commit. */
function toMerged({ commit: { parents } }: ChangedCommit, not: readonly Oid[]): Walk[] {
  return parents.slice(1).map((from, at) => ({ from, not: [...not, ...parents.slice(0, at + 1)] }));
}
