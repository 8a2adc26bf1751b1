/** The project's files by name, for a model that lists them and for a person who completes a path. */
import type { RefName, RepoPath } from '../../names.ts';
import type { Store, TreeFile } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isGuardedPath } from '../../session/global-files.ts';
import type { ChatFiles } from './files.ts';

/** Sorted by path. On disk: what HEAD has, with what the user has added and removed since. */
export async function listAll(
  store: Store,
  { workspace, tip }: Pick<ChatFiles, 'workspace' | 'tip'>,
): Promise<TreeFile[]> {
  const committed = new Map((await store.listTree(tip)).map((file) => [file.path, file]));
  const status = await workspace?.status({ untracked: true });
  const deleted = status?.edits.filter(({ staged, unstaged }) => staged === 'D' || unstaged === 'D') ?? [];
  for (const { path } of deleted) committed.delete(path);
  const added = status?.edits.filter(({ staged, unstaged }) => staged === 'A' && unstaged !== 'D') ?? [];
  // Another repository, which ends with `/`, has files of its own.
  const untracked = status?.untracked.filter((path) => !path.endsWith('/')) ?? [];
  const paths = new Set([...committed.keys(), ...added.map(({ path }) => path), ...untracked]);
  return [...paths].toSorted().map((path) => committed.get(path) ?? toFile(path, tip));
}

/** A listing shows nothing but the path. */
function toFile(path: RepoPath, oid: TreeFile['oid']): TreeFile {
  return { path, mode: '100644', oid };
}

/** Empty where the line has no commit here. */
export async function listPaths({ repository: { store, workspace } }: Project, ref: RefName): Promise<string[]> {
  const tip = await store.resolve(ref);
  if (tip === null) return [];
  const isHere = (await workspace?.head())?.ref === ref;
  const files = await listAll(store, { workspace: isHere ? workspace : null, tip });
  return files.map(({ path }) => path).filter((path) => !isGuardedPath(path));
}
