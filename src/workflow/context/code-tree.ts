/** The project's own files at one commit, read no further than a request needs: a large project has many. */
import type { TreeFile } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isOwn } from '../../session/context-target.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { renderTreeListing } from '../../session/tree-listing.ts';
import { toText } from '../line/read.ts';
import { readNamedFiles } from './read-named-files.ts';

export interface CodeTree {
  /** The files that these lines of context lists can speak of: for `resolveContext` as good as all files. */
  filesFor(lines: readonly string[], root: string | undefined): Promise<readonly TreeFile[]>;
  /** What the model is shown of all of them. */
  listing(): Promise<string>;
}

export function openCodeTree(project: Project, tip: Oid): CodeTree {
  const { store, cache } = project.repository;
  let all: Promise<readonly TreeFile[]> | undefined;
  const readAll = () => (all ??= store.listTree(tip).then((files) => files.filter(({ path }) => !isOwn(path))));
  return {
    filesFor: async (lines, root) => all ?? (await readNamedFiles(store, tip, lines, root)) ?? readAll(),
    async listing() {
      const key = await toListingKey(project, tip);
      const known = await cache.read(key);
      if (known !== null) return toText(known);
      const listing = renderTreeListing(await readAll());
      await cache.write(key, [new TextEncoder().encode(listing)]);
      return listing;
    },
  };
}

/** The same for all commits with the same code. The number goes up when a listing is rendered in another way. */
async function toListingKey({ repository, hash }: Project, tip: Oid): Promise<string> {
  const entries = (await repository.store.readDir(tip, '' as RepoPath))?.entries ?? [];
  const code = entries.filter(({ name }) => name !== '.teddy').map(({ mode, oid, name }) => `${mode} ${oid} ${name}`);
  return `tree-1-${hash(code.join('\0'))}`;
}
