/** The port `Remotes` in memory: other repositories, each on its own disk, with leases that hold or do not. */
import { RemoteRefusedError, TeddyError } from '../../src/errors.ts';
import type { RefName } from '../../src/names.ts';
import type { RefUpdate, Remotes, Store } from '../../src/ports/git.ts';
import { memoryDisk, type MemoryDisk } from './memory-objects.ts';
import { memoryStore } from './memory-store.ts';

export interface MemoryRemote {
  disk: MemoryDisk;
  store: Store;
  /** The pushed updates, push by push. */
  pushed: RefUpdate[][];
  /** Happens once, before the next push is decided: somebody else is faster. */
  meanwhile: (() => Promise<unknown>) | null;
  /** The server's rules: the refs of a push that they refuse. */
  refuses: (refs: RefName[]) => RefName[];
}

/** An empty repository that nobody works in. */
export async function memoryRemote(): Promise<MemoryRemote> {
  const disk = await memoryDisk();
  return {
    disk,
    store: memoryStore(disk, { ident: () => null, settings: new Map() }),
    pushed: [],
    meanwhile: null,
    refuses: () => [],
  };
}

/** `remotes`: by name; anything with a `/` in it is an address. A test may change it. */
export function memoryRemotes(here: { disk: MemoryDisk; store: Store }, remotes: Map<string, MemoryRemote>): Remotes {
  const find = (name: string) => {
    const remote = remotes.get(name);
    if (remote !== undefined) return remote;
    throw new TeddyError('UNKNOWN_REMOTE', `There is no remote ${name}.`, 'Add it: `git remote add <name> <url>`.');
  };
  return {
    names: async () => [...remotes.keys()].filter((name) => !name.includes('/')),
    async list(name, prefixes) {
      const { store } = find(name);
      const all = await store.listRefs('refs/');
      return { refs: all.filter(({ ref }) => prefixes.some((one) => ref.startsWith(one))), isEmpty: all.length === 0 };
    },
    async fetch(name, refs) {
      const remote = find(name);
      const there = new Map((await remote.store.listRefs('refs/')).map(({ ref, oid }) => [ref, oid]));
      const known = new Map((await here.store.listRefs('refs/')).map(({ ref, oid }) => [ref, oid]));
      const updates = refs.map(({ from, to }) => {
        const tip = there.get(from);
        if (tip === undefined) throw new TeddyError('REMOTE_CHANGED', `${from} is not there any more.`, 'Try again.');
        return { ref: to, old: known.get(to) ?? null, new: tip };
      });
      copyObjects(remote.disk, here.disk);
      await here.store.updateRefs(updates, 'fetch');
    },
    async push(name, updates) {
      const remote = find(name);
      const happens = remote.meanwhile;
      remote.meanwhile = null;
      await happens?.();
      const refused = remote.refuses(updates.map(({ ref }) => ref));
      const toError = (ref: RefName) => new TeddyError('REMOTE_REFUSED', `${name} refused ${ref}: declined.`, 'Ask.');
      if (refused[0] !== undefined)
        throw new RemoteRefusedError(toError(refused[0]), new Map(refused.map((ref) => [ref, toError(ref)])));
      copyObjects(here.disk, remote.disk);
      const outcome = await remote.store.updateRefs([...updates], 'push');
      if (outcome === 'done') remote.pushed.push([...updates]);
      return outcome;
    },
  };
}

/** Objects never change: existing ones are left alone. */
export function copyObjects(from: MemoryDisk, to: MemoryDisk): void {
  for (const [path, bytes] of from.objects) if (!to.objects.has(path)) to.objects.set(path, bytes);
}
