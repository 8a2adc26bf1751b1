/** Describes where a repository keeps its parts, and reads which branch is checked out. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fallBackTo, nullIfGone } from '../../disk/system-error.ts';
import type { RefName } from '../../names.ts';
import { toGitFailure } from './git-failure.ts';
import type { GitRunner } from './run.ts';

/** A repository's directories, as absolute paths. */
export interface RepositoryLayout {
  /** The work tree; null when the repository is bare. */
  root: string | null;
  /** The git directory of this work tree: HEAD, index, locks. */
  gitDir: string;
  /** The git directory that all work trees share: refs, configuration. */
  commonDir: string;
  objectsDir: string;
  objectFormat: 'sha1' | 'sha256';
}

/** Returns the commits where a shallow clone's history ends, one per line; an empty text in a full clone. */
export function readShallow(commonDir: string): Promise<string> {
  return readFile(join(commonDir, 'shallow'), 'utf8').catch(fallBackTo('', 'ENOENT'));
}

/** Asks git for HEAD's branch, because only git knows where its ref backend keeps HEAD. Null when HEAD is detached. */
export async function readHeadRef(git: GitRunner): Promise<RefName | null> {
  const { exitCode, stdout, stderr } = await git.run(['symbolic-ref', 'HEAD'], { accept: [128] });
  if (exitCode === 0) return stdout.toString('utf8').trim() as RefName;
  // A failure of git must not be mistaken for a detached HEAD. With -q, git would print nothing in either case.
  if (!stderr.includes('is not a symbolic ref')) throw toGitFailure('symbolic-ref', { exitCode, signal: null, stderr });
  return null;
}

/** Maps the root of each linked work tree to its git directory. */
export async function readWorkTreeDirs(commonDir: string): Promise<Map<string, string>> {
  const dir = join(commonDir, 'worktrees');
  const names = (await readdir(dir).catch(nullIfGone)) ?? [];
  const found = await Promise.all(
    names.map(async (name): Promise<[string, string] | null> => {
      const gitDir = join(dir, name);
      const text = await readFile(join(gitDir, 'gitdir'), 'utf8').catch(nullIfGone);
      // git may write a path relative to this directory.
      return text === null ? null : [dirname(resolve(gitDir, text.replace(/\n$/, ''))), gitDir];
    }),
  );
  return new Map(found.filter((pair) => pair !== null));
}
