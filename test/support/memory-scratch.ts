/** `Repository.openScratch` in memory: the only work tree, restored afterwards. A test's commands write there. */
import type { Repository, Store, Workspace } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { listFiles, root, type MemoryDisk } from './memory-objects.ts';
import { writeFiles } from './memory-workspace.ts';

export function memoryScratchTrees(
  disk: MemoryDisk,
  store: Store,
  workspace: Workspace,
): Pick<Repository, 'openScratch'> {
  return {
    async openScratch(commit) {
      const read = async (treeish: Oid) => {
        const files = await listFiles(disk, treeish);
        return Promise.all(files.map(async ({ path, oid }) => ({ path, bytes: await store.readBlob(oid) })));
      };
      const before = (await workspace.head()).oid ?? commit;
      let present = await read(before);
      const moveTo = async (to: Oid) => {
        const wanted = await read(to);
        const gone = present.filter(({ path }) => !wanted.some((one) => one.path === path));
        await writeFiles(disk, [...gone.map(({ path }) => ({ path, bytes: null })), ...wanted]);
        present = wanted;
        return true;
      };
      await moveTo(commit);
      const isIntact = async () => true;
      const remove = async () => void (await moveTo(before));
      return { workspace: { ...workspace, root }, store, env: {}, isIntact, moveTo, remove };
    },
  };
}
