/** The project's files in a future state: the writes of a plan's earlier actions, layered over the files on disk. */
import type { FileTarget } from '../../ports/files.ts';
import { parentsOf, type RepoPath } from '../../names.ts';

export type Inspect = (path: RepoPath) => Promise<FileTarget>;

interface VirtualFiles {
  inspect: Inspect;
  /** Records a file and its parent directories. Does not check the path again, because the caller has inspected it. */
  write(path: RepoPath, bytes: Uint8Array): Promise<void>;
}

/** Changes nothing on disk. Two names of one file, through a symlink, count as two files here. */
export function layerFiles(disk: Inspect): VirtualFiles {
  const files = new Map<RepoPath, FileTarget & { kind: 'file' }>();
  const directories = new Set<RepoPath>();

  const inspect: Inspect = async (path) => {
    const file = files.get(path);
    if (file !== undefined) return file;
    if (directories.has(path)) return { kind: 'directory' };
    const parent = parentsOf(path).find((dir) => files.has(dir));
    return parent === undefined ? await disk(path) : { kind: 'blocked', parent };
  };

  const write = async (path: RepoPath, bytes: Uint8Array) => {
    const before = await inspect(path);
    const executable = before.kind === 'file' && before.executable;
    const isLink = (before.kind === 'file' || before.kind === 'absent') && before.real !== undefined;
    files.set(path, { kind: 'file', bytes, executable, ...(isLink ? { real: before.real } : {}) });
    for (const dir of parentsOf(path)) directories.add(dir);
  };

  return { inspect, write };
}
