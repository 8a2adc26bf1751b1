/** How many paths the commits of a line change, all of them together, before git is asked which. */
import type { Commit, Store } from '../../ports/git.ts';
import { keepRecent } from '../../session/keep-recent.ts';
import { maxChangedPaths, pathCounter } from '../../session/count-paths.ts';

export interface ChangeCounter {
  /** Against its first parent. False: with this one it is too many, or they lie too deep. Several may be added at a time. */
  add(commit: Commit): Promise<boolean>;
}

export function changeCounter(store: Store): ChangeCounter {
  let [sum, left] = [0, maxChangedPaths];
  // The trees of a commit are those that the next one is compared with.
  const count = pathCounter(keepRecent(store.readTree, { max: 512 }), () => (left -= 1) >= 0);
  return {
    async add({ tree, parents: [parent] }) {
      const isThere = parent !== undefined && (await store.readSize(parent)) !== null;
      sum += await count(isThere ? (await store.readCommit(parent)).tree : null, tree);
      return sum <= maxChangedPaths && left >= 0;
    },
  };
}
