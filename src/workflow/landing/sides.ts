/** The three trees that a landing merges. */
import type { ObjectBatch, Store, TreeEntry } from '../../ports/git.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { editTree } from '../../session/edit-tree.ts';

/** Three trees that differ in code alone. */
export interface LandingSides {
  base: Oid;
  ours: Oid;
  theirs: Oid;
}

/** Commits; null stands for no code at all. All three get the `.teddy/` of `target`, so that no merge can touch it. */
export async function readSides(
  store: Store,
  { base, target, tip }: { base: Oid | null; target: Oid | null; tip: Oid },
): Promise<LandingSides> {
  const batch = store.batch();
  const treeOf = async (commit: Oid | null) => (commit === null ? null : (await store.readCommit(commit)).tree);
  const ours = await treeOf(target);
  const own = ours === null ? null : ((await store.readTree(ours)).find(({ name }) => name === '.teddy') ?? null);
  const sides = {
    base: await replaceSessions(store, batch, await treeOf(base), own),
    ours: ours ?? (await batch.tree([])),
    theirs: await replaceSessions(store, batch, await treeOf(tip), own),
  };
  await batch.flush();
  return sides;
}

function replaceSessions(store: Store, batch: ObjectBatch, tree: Oid | null, own: TreeEntry | null): Promise<Oid> {
  const entry = own === null ? null : { mode: own.mode, oid: own.oid };
  return editTree(store, batch, tree, [{ path: '.teddy' as RepoPath, entry }]);
}
