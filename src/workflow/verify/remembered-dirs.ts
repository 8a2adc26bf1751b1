/** A store that is asked for the same directories again and again. */
import type { Store } from '../../ports.ts';

/** Those of a few commits: a session of many turns has a large one. */
const maxDirs = 64;

/** What was read last is read once. */
export function rememberDirs(store: Store): Store {
  const known = new Map<string, ReturnType<Store['readDir']>>();
  return {
    ...store,
    readDir(treeish, path) {
      const key = `${treeish}:${path}`;
      const reading = known.get(key) ?? store.readDir(treeish, path);
      known.delete(key);
      known.set(key, reading);
      const [oldest] = known.keys();
      if (known.size > maxDirs && oldest !== undefined) known.delete(oldest);
      return reading;
    },
  };
}
