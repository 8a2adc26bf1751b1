/** Where a repository keeps its parts, and which branch is checked out in it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RefName } from '../session/names.ts';
import type { GitRunner } from './run.ts';

/** All paths are absolute. */
export interface RepositoryLayout {
  /** The work tree; null when the repository is bare. */
  root: string | null;
  /** Of this work tree: HEAD, index, locks. */
  gitDir: string;
  /** Of all work trees: refs, configuration. */
  commonDir: string;
  objectsDir: string;
  objectFormat: 'sha1' | 'sha256';
}

/** `HEAD` holds the branch as text, except with other ref backends, where git is asked. Null: detached. */
export async function readHeadRef(git: GitRunner, gitDir: string): Promise<RefName | null> {
  const text = await readFile(join(gitDir, 'HEAD'), 'utf8').catch(() => '');
  const direct = /^ref: (refs\/\S+)\n?$/.exec(text)?.[1];
  if (direct !== undefined && direct !== 'refs/heads/.invalid') return direct as RefName;
  const { exitCode, stdout } = await git.run(['symbolic-ref', '-q', 'HEAD'], { accept: [1, 128] });
  return exitCode === 0 ? (stdout.toString('utf8').trim() as RefName) : null;
}
