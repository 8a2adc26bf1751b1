/** How many paths the commits of a line change, all of them together, before git is asked which. */
import type { Commit, Store } from '../../ports/git.ts';
import { maxChangedPaths, pathCounter } from '../../session/count-paths.ts';

export interface ChangeCounter {
  /** Against its first parent. False: with this one it is too many, or they lie too deep. */
  add(commit: Commit): Promise<boolean>;
}

export function changeCounter(store: Store): ChangeCounter {
  const count = pathCounter(store.readTree);
  let sum = 0;
  return {
    async add({ tree, parents: [parent] }) {
      const isThere = parent !== undefined && (await store.readSize(parent)) !== null;
      sum += await count(isThere ? (await store.readCommit(parent)).tree : null, tree);
      return sum <= maxChangedPaths;
    },
  };
}
