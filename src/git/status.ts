/** Reads `git status --porcelain=v2 -z`: which paths are not as HEAD has them. */
import type { Edit, WorkspaceStatus } from '../ports.ts';
import { TeddyError } from '../errors.ts';
import { repoPathFromGit, type RepoPath } from '../session/names.ts';
import { waitForIndex } from './index-lock.ts';
import { splitNul, type GitRunner } from './run.ts';

/** Between the move of a branch and that of the index, files look staged that nobody has staged. */
export async function readSettledStatus(
  git: GitRunner,
  gitDir: string,
  wanted: { untracked: boolean },
): Promise<WorkspaceStatus> {
  const status = await readStatus(git, wanted);
  if (!status.edits.some(({ staged, unstaged }) => staged !== '.' && unstaged !== '.')) return status;
  await waitForIndex(gitDir);
  return readStatus(git, wanted);
}

export async function readStatus(
  git: GitRunner,
  options: { untracked: boolean; path?: RepoPath },
): Promise<WorkspaceStatus> {
  const untracked = options.untracked ? 'all' : 'no';
  const args = [
    'status',
    '--porcelain=v2',
    '-z',
    '--no-renames',
    '--ignore-submodules=none',
    `--untracked-files=${untracked}`,
    ...(options.path === undefined ? [] : ['--', `:(top,literal)${options.path}`]),
  ];
  return parseStatus(splitNul((await git.run(args)).stdout));
}

function parseStatus(rows: string[]): WorkspaceStatus {
  const status: WorkspaceStatus = { edits: [], unmerged: [], untracked: [] };
  for (const row of rows) {
    if (row.startsWith('1 ')) status.edits.push(parseEdit(row));
    else if (row.startsWith('u ')) status.unmerged.push(toPath(row.split(' ').slice(10).join(' ')));
    else if (row.startsWith('? ')) status.untracked.push(repoPathFromGit(row.slice(2)));
  }
  return status;
}

/** `1 XY sub mH mI mW hH hI path` */
function parseEdit(row: string): Edit {
  const [, letters = '..', submodule = 'N...', ...rest] = row.split(' ');
  return {
    path: toPath(rest.slice(5).join(' ')),
    staged: letters.charAt(0),
    unstaged: letters.charAt(1),
    submodule: submodule.startsWith('S'),
  };
}

/** An edited path is written back to git, so it has to survive as text. */
function toPath(path: string): RepoPath {
  if (!path.includes('\uFFFD')) return repoPathFromGit(path);
  throw new TeddyError(
    'SNAPSHOT_FAILED',
    `The name of the edited file ${path} is not UTF-8.`,
    'Commit that file with git first; teddy then leaves it alone.',
  );
}
