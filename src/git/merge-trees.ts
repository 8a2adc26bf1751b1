/** git's own three-way merge of trees: renames, attributes and the user's merge drivers count as they do in `git merge`. */
import type { ObjectBatch, Store } from '../ports.ts';
import { parseOid, repoPathFromGit, type Oid } from '../session/names.ts';
import { splitNul, type GitRunner } from './run.ts';

/** Always the same, so that the same merge makes the same objects again and none more. */
const nobody = 'teddy <teddy@localhost> 0 +0000';

export async function mergeTrees(
  git: GitRunner,
  batch: ObjectBatch,
  { base, ours, theirs }: { base: Oid; ours: Oid; theirs: Oid },
): ReturnType<Store['mergeTrees']> {
  // Before git 2.40 `merge-tree` takes no base: it finds this one, in a history that is made for it and that no ref has.
  const root = await batch.commit(toCommit(base, []));
  const sides = await Promise.all([ours, theirs].map((tree) => batch.commit(toCommit(tree, [root]))));
  await batch.flush();
  const flags = ['--write-tree', '-z', '--name-only', '--no-messages'];
  const { exitCode, stdout } = await git.run(['merge-tree', ...flags, ...sides], { accept: [1] });
  const [tree = '', ...paths] = splitNul(stdout);
  const merged = parseOid(tree);
  return exitCode === 0
    ? { tree: merged, conflicts: [] }
    : { tree: null, conflicts: paths.filter((path) => path !== '').map(repoPathFromGit) };
}

function toCommit(tree: Oid, parents: Oid[]): Parameters<ObjectBatch['commit']>[0] {
  return { tree, parents, author: nobody, committer: nobody, message: 'teddy: a side of a merge\n' };
}
