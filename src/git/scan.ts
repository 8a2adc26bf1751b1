/** What stands in a work tree, path by path, so that two looks tell what happened in between. */
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scan } from '../ports/git.ts';
import { repoPathFromGit, type RepoPath } from '../names.ts';
import type { GitRunner } from './run.ts';
import { readStatus } from './status.ts';

/** Status says which paths differ; size, times and inode say whether one of them changed between two scans. */
export async function scan(git: GitRunner, root: string): Promise<Scan> {
  const { edits, unmerged, untracked } = await readStatus(git, { untracked: true });
  const rows: [RepoPath, string][] = [
    ...untracked.map((path): [RepoPath, string] => [path, '??']),
    ...unmerged.map((path): [RepoPath, string] => [path, 'UU']),
    ...edits.map(({ path, staged, unstaged, submodule }): [RepoPath, string] => [
      submodule ? (`${path}/` as RepoPath) : path,
      staged + unstaged,
    ]),
  ];
  const prints = rows.map(async ([path, letters]): Promise<[RepoPath, string]> => {
    const print = path.endsWith('/') ? 'repository' : await printFile(join(root, path));
    return [path, `${letters} ${print}`];
  });
  return new Map(await Promise.all(prints));
}

async function printFile(path: string): Promise<string> {
  const found = await lstat(path, { bigint: true }).catch(toNullIfGone);
  return found ? `${found.ino} ${found.size} ${found.mode} ${found.mtimeNs} ${found.ctimeNs}` : 'gone';
}

export async function listUntrackedDirectories(git: GitRunner): Promise<RepoPath[]> {
  const rows = await git.list(['ls-files', '--others', '--directory', '--exclude-standard', '-z']);
  return rows.filter((row) => row.endsWith('/')).map((row) => repoPathFromGit(row.slice(0, -1)));
}

/** Only what is not there is gone: an error of the disk must not become a deletion in a commit. */
export async function lstatIfThere(path: string): Promise<Stats | null> {
  return lstat(path).catch(toNullIfGone);
}

function toNullIfGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
