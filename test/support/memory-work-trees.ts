/** Linked work trees in memory: git's record of each, and its contents. */
import { TeddyError } from '../../src/errors.ts';
import type { LinkedWorkTree, Repository, Workspace } from '../../src/ports/git.ts';
import { shortRef, type RefName, type RepoPath } from '../../src/names.ts';

export interface MemoryWorkTree extends LinkedWorkTree {
  untracked: string[];
  ignored: string[];
  operation: string | null;
}

type WorkTrees = Pick<
  Repository,
  | 'workTrees'
  | 'hasLinkedWorkTrees'
  | 'linkedWorkTrees'
  | 'addWorkTree'
  | 'removeWorkTree'
  | 'ignoredFilesOf'
  | 'openWorkspace'
>;

/** `trees` is the list, and a test may change it. The linked ones have no files of their own. */
export function memoryWorkTrees(
  { store, workspace }: { store: Repository['store']; workspace: Workspace },
  trees: MemoryWorkTree[],
): WorkTrees {
  const find = (root: string) => trees.find((tree) => tree.root === root);
  const main = async () => ({ root: workspace.root, ref: (await workspace.head()).ref });
  return {
    workTrees: async () => [
      await main(),
      ...trees.filter(({ isGone }) => !isGone).map(({ root, ref }) => ({ root, ref })),
    ],
    hasLinkedWorkTrees: () => Promise.resolve(trees.length > 0),
    linkedWorkTrees: () =>
      Promise.all(
        trees.map(async (tree) => ({ ...tree, oid: tree.ref === null ? tree.oid : await store.resolve(tree.ref) })),
      ),
    async addWorkTree(ref) {
      const holder = [await main(), ...trees].find((tree) => tree.ref === ref);
      if (holder) throw new TeddyError('LINE_CHECKED_OUT', `${ref} is checked out in ${holder.root}.`);
      const tree = memoryWorkTree(ref);
      trees.push(tree);
      return tree.root;
    },
    async removeWorkTree(root) {
      const tree = find(root);
      if (!tree) throw new TeddyError('WORK_TREE_IN_USE', `${root} is not a work tree.`);
      trees.splice(trees.indexOf(tree), 1);
    },
    ignoredFilesOf: async (root) => find(root)?.ignored ?? [],
    async openWorkspace(root) {
      const tree = find(root);
      return tree ? workspaceOf(tree, { store, workspace }) : workspace;
    },
  };
}

/** Makes one like teddy. */
export function memoryWorkTree(ref: RefName, more: Partial<MemoryWorkTree> = {}): MemoryWorkTree {
  return {
    root: `/linked/${shortRef(ref).replace('teddy/', '')}`,
    ref,
    oid: null,
    isGone: false,
    lock: null,
    madeFor: ref,
    isUnfinished: false,
    untracked: [],
    ignored: [],
    operation: null,
    ...more,
  };
}

function workspaceOf(
  { root, ref, untracked, operation }: MemoryWorkTree,
  { store, workspace }: { store: Repository['store']; workspace: Workspace },
): Workspace {
  const head = async () => ({ ref, oid: ref === null ? null : await store.resolve(ref) });
  const status = async () => ({ edits: [], unmerged: [], untracked: untracked as RepoPath[] });
  return {
    ...workspace,
    root,
    head,
    status,
    headAndStatus: async () => ({ head: await head(), status: await status() }),
    operationInProgress: async () => operation,
    publish: ({ ref: line, old, new: commit, reflog, durable }) =>
      store.updateRefs([{ ref: line, old, new: commit }], reflog, durable),
  };
}
