/** The trees of many commits, of which each is much like the one before: what is the same is read and listed once. */
import { TeddyError } from '../../errors.ts';
import type { Store, TreeEntry, TreeFile } from '../../ports/git.ts';
import { isOwn } from '../../session/context-target.ts';
import { maxChangedPaths, pathCounter } from '../../session/count-paths.ts';
import { joinPath, type Oid, type RepoPath } from '../../names.ts';
import { renderTreeListing } from '../../session/tree-listing.ts';

/** Refuses a tree with more paths than any project has, with DAMAGED_SESSION, before they are listed. */
export interface CodeTrees {
  /** Finds a commit's file at a path of the code; null when it has none. */
  find(commit: Oid, path: RepoPath): Promise<TreeEntry | null>;
  /** All files below a directory of a commit, with their whole paths. */
  files(commit: Oid, dir: RepoPath): Promise<TreeFile[]>;
  /** The list of the project's files in the form that a model sees. */
  listing(commit: Oid): Promise<string>;
}

/** Beyond so many, all are forgotten: memory has a limit. */
const maxTrees = 20_000;

export function openCodeTrees(store: Store): CodeTrees {
  const trees = new Map<Oid, Promise<TreeEntry[]>>();
  const files = new Map<Oid, Promise<TreeFile[]>>();
  let last: { key: string; listing: Promise<string> } | null = null;

  const readTree = (oid: Oid) => remember(trees, oid, () => store.readTree(oid));
  const readRoot = async (commit: Oid) => (await store.readDir(commit, '' as RepoPath))?.entries ?? [];

  const count = pathCounter(readTree);

  async function refuseEndless(entries: readonly TreeEntry[]): Promise<void> {
    let sum = 0;
    for (const { mode, oid } of entries) sum += mode === '40000' ? await count(null, oid) : 1;
    if (sum <= maxChangedPaths) return;
    throw new TeddyError(
      'DAMAGED_SESSION',
      `A tree has more than ${maxChangedPaths} paths.`,
      'Nobody needs so many; `git ls-tree` shows what its trees hold.',
    );
  }

  /** In git's order, paths counted from the tree. */
  const filesOf = (oid: Oid): Promise<TreeFile[]> => remember(files, oid, async () => joinFiles(await readTree(oid)));

  async function joinFiles(entries: readonly TreeEntry[]): Promise<TreeFile[]> {
    const parts = await Promise.all(
      entries.map(async ({ name, mode, oid }): Promise<TreeFile[]> => {
        if (mode !== '40000') return [{ path: name as RepoPath, mode, oid }];
        return (await filesOf(oid)).map((file) => ({ ...file, path: `${name}/${file.path}` as RepoPath }));
      }),
    );
    return parts.flat();
  }

  return {
    async find(commit, path) {
      let entries = await readRoot(commit);
      const parts = path.split('/');
      for (const [at, part] of parts.entries()) {
        const found = entries.find(({ name }) => name === part);
        if (found === undefined) return null;
        if (at === parts.length - 1) return found;
        if (found.mode !== '40000') return null;
        entries = await readTree(found.oid);
      }
      return null;
    },
    async files(commit, dir) {
      const entries = (await store.readDir(commit, dir))?.entries ?? [];
      await refuseEndless(entries);
      return (await joinFiles(entries)).map((file) => ({ ...file, path: joinPath(dir, file.path) }));
    },
    async listing(commit) {
      const code = (await readRoot(commit)).filter(({ name }) => name !== '.teddy');
      const key = code.map(({ mode, oid, name }) => `${mode} ${oid} ${name}`).join('\0');
      if (last?.key !== key)
        last = {
          key,
          listing: refuseEndless(code)
            .then(() => joinFiles(code))
            .then((all) => renderTreeListing(all.filter(({ path }) => !isOwn(path)))),
        };
      return last.listing;
    },
  };
}

function remember<Value>(known: Map<Oid, Promise<Value>>, oid: Oid, read: () => Promise<Value>): Promise<Value> {
  const found = known.get(oid);
  if (found !== undefined) return found;
  if (known.size >= maxTrees) known.clear();
  const reading = read();
  known.set(oid, reading);
  return reading;
}
