/** Reads the trees of many similar commits, each shared part only once. */
import { TeddyError } from '../../errors.ts';
import type { Store, TreeEntry, TreeFile } from '../../ports/git.ts';
import { keepRecent } from '../../session/context/keep-recent.ts';
import { maxChangedPaths, pathCounter } from '../../session/paths/count-paths.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { renderTreeListing } from '../../session/paths/tree-listing.ts';

/** The trees of commits. Refuses a tree with more paths than any project has with DAMAGED_SESSION, before listing its paths. */
export interface CodeTrees {
  /** Finds a commit's file at a path of the code; null when there is none. */
  find(commit: Oid, path: RepoPath): Promise<TreeEntry | null>;
  /** Lists all files below a commit's directory, with their full paths. */
  files(commit: Oid, dir: RepoPath): Promise<TreeFile[]>;
  /** Lists the project's files in the form that a model sees. */
  listing(commit: Oid): Promise<string>;
}

/** The number of trees to keep, because memory is limited. */
const maxTrees = 20_000;

export function openCodeTrees(store: Store): CodeTrees {
  let last: { all: readonly TreeFile[]; listing: string } | null = null;

  const readTree = keepRecent((oid: Oid) => store.readTree(oid), { max: maxTrees });
  const filesOf = keepRecent((_: string, list: () => Promise<TreeFile[]>) => list(), { max: maxTrees });
  const readRoot = async (commit: Oid) => (await store.readDir(commit, '' as RepoPath))?.entries ?? [];

  const count = pathCounter(readTree);

  async function refuseEndless(entries: readonly TreeEntry[]): Promise<void> {
    let sum = 0;
    for (const { mode, oid } of entries) sum += mode === '40000' ? await count(null, oid) : 1;
    if (sum <= maxChangedPaths) return;
    throw new TeddyError(
      'DAMAGED_SESSION',
      `A tree has more than ${maxChangedPaths} paths.`,
      'No project needs that many; `git ls-tree` shows what its trees contain.',
    );
  }

  /**
   * Joins the files in git's order. An unchanged directory returns the same objects again, which makes them quick to
   * compare.
   */
  async function joinFiles(above: string, entries: readonly TreeEntry[]): Promise<TreeFile[]> {
    const parts = entries.map(({ name, mode, oid }): TreeFile | Promise<TreeFile[]> => {
      const path = `${above}${name}` as RepoPath;
      if (mode !== '40000') return { path, mode, oid };
      return filesOf(`${oid} ${path}`, async () => joinFiles(`${path}/`, await readTree(oid)));
    });
    return (await Promise.all(parts)).flat();
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
      return joinFiles(`${dir}/`, entries);
    },
    async listing(commit) {
      const code = (await readRoot(commit)).filter(({ name }) => name !== '.teddy');
      const key = code.map(({ mode, oid, name }) => `${mode} ${oid} ${name}`).join('\0');
      const all = await filesOf(key, () => refuseEndless(code).then(() => joinFiles('', code)));
      if (last === null || !hasSamePaths(last.all, all)) last = { all, listing: renderTreeListing(all) };
      return last.listing;
    },
  };
}

function hasSamePaths(some: readonly TreeFile[], others: readonly TreeFile[]): boolean {
  return some === others || (some.length === others.length && some.every(({ path }, at) => path === others[at]?.path));
}
