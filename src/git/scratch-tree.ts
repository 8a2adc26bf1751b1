/** A linked work tree in a temporary directory, for commands that must not meet anybody's files. */
import { mkdtemp, mkdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { ScratchTree, Workspace } from '../ports.ts';
import type { Oid } from '../session/names.ts';
import type { GitRunner } from './run.ts';

interface ScratchTreeOptions {
  git: GitRunner;
  /** For commands in another work tree. */
  gitAt(root: string): GitRunner;
  /** Of the project; null in a bare repository. */
  root: string | null;
  openWorkspace(root: string): Promise<Workspace>;
}

export async function openScratch(options: ScratchTreeOptions, commit: Oid): Promise<ScratchTree> {
  const { git, gitAt, openWorkspace } = options;
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'teddy-replay-')));
  // Tools tell the name of the directory that they are run in.
  const root = join(dir, basename(options.root ?? 'project'));
  const remove = async () => {
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
    // With its files gone, git takes away what it has on record of it, and of no other.
    await git.run(['worktree', 'remove', '--force', '--force', root], { accept: [128] });
  };
  try {
    await mkdir(root);
    await git.run(['worktree', 'add', '--quiet', '--detach', root, commit]);
    return {
      workspace: await openWorkspace(root),
      moveTo: async (to) => void (await gitAt(root).run(['reset', '--quiet', '--hard', '--no-recurse-submodules', to])),
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
