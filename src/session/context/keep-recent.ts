/** Caches what was read last, because a walk along a line reads the same objects again and again. */
import type { Store } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';

interface KeepOptions<Value> {
  /** The number of values that are cached. */
  max: number;
  /** Returns false for values that should not be cached: large ones, and those that may change. */
  isKept?(value: Value): boolean;
}

/** Wraps `read`, which must always give the same value for the same key, with a cache. Failures and null are not cached. */
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

/** Returns a caching store for a walk along a line, which compares each entry with those a few turns before it. */
export function keepRecentReads(store: Store): Store {
  const readDir = keepRecent((_, ...place: Parameters<Store['readDir']>) => store.readDir(...place), { max: 64 });
  const isKept = ({ length }: Uint8Array) => length <= 64 * 1024;
  return {
    ...store,
    readBlob: keepRecent((oid: Oid) => store.readBlob(oid), { max: 256, isKept }),
    readDir: (treeish, path) => readDir(`${treeish}:${path}`, treeish, path),
  };
}
