/** Remembers what was read last: whoever walks a line asks for the same objects again and again. */
import type { Store } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';

interface KeepOptions<Value> {
  /** How many values are kept. */
  max: number;
  /** False for what is to be read again: a large one takes memory, and there may be more to say another time. */
  isKept?(value: Value): boolean;
}

/** The same as `read`, which has to give the same value for the same key at any time. What fails is not remembered, nor is null. */
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

/** The same store, for a walk along a line: an entry is held against what those before it have brought, a few turns back. */
export function keepRecentReads(store: Store): Store {
  const readDir = keepRecent((_, ...place: Parameters<Store['readDir']>) => store.readDir(...place), { max: 64 });
  const isKept = ({ length }: Uint8Array) => length <= 64 * 1024;
  return {
    ...store,
    readBlob: keepRecent((oid: Oid) => store.readBlob(oid), { max: 256, isKept }),
    readDir: (treeish, path) => readDir(`${treeish}:${path}`, treeish, path),
  };
}
