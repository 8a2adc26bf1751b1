/** The port `Remains` in memory: items that a test puts there are found until they are cleared. */
import type { DamagedObject, Remain, Remains } from '../../src/ports/disk.ts';
import type { Oid } from '../../src/names.ts';

export interface MemoryRemains extends Remains {
  left: Remain[];
  damaged: DamagedObject[];
  unreachable: Oid[];
  reachedIds: Set<string>;
  wereTips: Set<Oid>;
}

export function memoryRemains(): MemoryRemains {
  const remains: MemoryRemains = {
    left: [],
    damaged: [],
    unreachable: [],
    reachedIds: new Set(),
    wereTips: new Set(),
    look: async () => [...remains.left],
    async clear(remain) {
      remains.left = remains.left.filter((one) => one !== remain);
    },
    checkObjects: async () => ({ objects: 1, damaged: remains.damaged }),
    unreachableCommits: async () => remains.unreachable,
    reachedEntryIds: async () => remains.reachedIds,
    reflogCommits: async () => remains.wereTips,
  };
  return remains;
}
