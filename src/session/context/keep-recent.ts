/** Caches recent reads, because a walk along a line reads the same objects again and again. */
import type { Store } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';

interface KeepOptions<Value> {
  /** The maximum number of cached values. */
  max: number;
  /** Returns false for values that should not be cached: large ones, and changeable ones. */
  isKept?(value: Value): boolean;
}

/** Wraps `read`, which must always return one value per key, with a cache. Does not cache failures and null. */
export function keepRecent<Key extends string, Value, More extends unknown[]>(
  read: (key: Key, ...more: More) => Promise<Value>,
  { max, isKept = () => true }: KeepOptions<Value & {}>,
): (key: Key, ...more: More) => Promise<Value> {
  const known = new Map<Key, Promise<Value>>();
  return (key, ...more) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= max) known.delete(known.keys().next().value as Key);
    const reading = read(key, ...more);
    known.set(key, reading);
    const forget = () => known.delete(key);
    reading.then((value) => (value == null || !isKept(value)) && forget(), forget);
    return reading;
  };
}

/** Returns a caching store for a walk along a line, which compares each entry with entries a few turns earlier. */
export function keepRecentReads(store: Store): Store {
  const readDir = keepRecent((_, ...place: Parameters<Store['readDir']>) => store.readDir(...place), { max: 64 });
  const isKept = ({ length }: Uint8Array) => length <= 64 * 1024;
  return {
    ...store,
    readBlob: keepRecent((oid: Oid) => store.readBlob(oid), { max: 256, isKept }),
    readDir: (treeish, path) => readDir(`${treeish}:${path}`, treeish, path),
  };
}
