/** Looks at paths: what stands there in a commit, and which names are those of other files on macOS and Windows. What git ignores is in no clone, and is nobody's twin. */
import type { Inspect } from '../../plan/virtual-files.ts';
import type { FileTarget } from '../../ports/disk.ts';
import type { Store, TreeMode, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import * as twinNames from '../../session/twin-names.ts';

/** Null: no file that git sees has a name that differs from this one only in case or Unicode form. */
export async function findTwin(project: Project, workspace: Workspace, path: RepoPath): Promise<RepoPath | null> {
  const twin = await project.filesOf(workspace.root).findTwin(path);
  return twin === null || (await workspace.ignored([twin])).length > 0 ? null : twin;
}

/** The same among the files of a commit. */
export function findTwinIn(store: Store, tip: Oid, path: RepoPath): Promise<RepoPath | null> {
  const list = async (directory: string) => (await store.readDir(tip, directory as RepoPath))?.entries ?? [];
  return twinNames.findTwin(path, async (directory) => (await list(directory)).map(({ name }) => name));
}

/** Also says of a path that is absent whether it has a twin. */
export function inspectWithTwins(project: Project, workspace: Workspace): Inspect {
  const { inspect } = project.filesOf(workspace.root);
  return async (path) => {
    const found = await inspect(path);
    const twin = found.kind === 'absent' ? await findTwin(project, workspace, path) : null;
    return found.kind === 'absent' && twin !== null ? { ...found, twin } : found;
  };
}

/** `large`: a file beyond `maxBytes`. `link`: in a tree, where nothing is followed. */
export type FoundInTree = FileTarget | { kind: 'large' } | { kind: 'link' };

/** For a line that is checked out nowhere. */
export async function inspectTree(store: Store, tip: Oid, path: RepoPath, maxBytes: number): Promise<FoundInTree> {
  const cut = path.lastIndexOf('/');
  const directory = await store.readDir(tip, path.slice(0, Math.max(0, cut)) as RepoPath);
  const entry = directory?.entries.find(({ name }) => name === path.slice(cut + 1));
  if (entry === undefined) return { kind: 'absent' };
  const found = unreadableKinds(path)[entry.mode];
  if (found !== undefined) return found;
  if (((await store.readSize(entry.oid)) ?? 0) > maxBytes) return { kind: 'large' };
  return { kind: 'file', bytes: await store.readBlob(entry.oid), executable: entry.mode === '100755' };
}

function unreadableKinds(path: RepoPath): Partial<Record<TreeMode, FoundInTree>> {
  return {
    '40000': { kind: 'directory' },
    '120000': { kind: 'link' },
    '160000': { kind: 'foreign', repository: path },
  };
}
