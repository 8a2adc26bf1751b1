/** Reads `git status --porcelain=v2 -z`: the paths that differ from HEAD. */
import { isUtf8 } from 'node:buffer';
import type { Edit, Head, WorkspaceStatus } from '../../ports/git.ts';
import { parseOid, repoPathFromGit, type RefName, type RepoPath } from '../../names.ts';
import { waitForIndex } from './index-lock.ts';
import type { GitRunner } from '../run/run.ts';

interface StatusOptions {
  untracked: boolean;
  path?: RepoPath;
}

export interface HeadAndStatus {
  head: Head;
  status: WorkspaceStatus;
}

/** Reads the status, and reads it again if a branch may have moved before its index: in that state, files look staged. */
export async function readSettledStatus(
  git: GitRunner,
  gitDir: string,
  options: StatusOptions,
): Promise<HeadAndStatus> {
  const found = await readStatus(git, options);
  if (!found.status.edits.some(({ staged, unstaged }) => staged !== '.' && unstaged !== '.')) return found;
  await waitForIndex(gitDir);
  return readStatus(git, options);
}

export async function readStatus(git: GitRunner, options: StatusOptions): Promise<HeadAndStatus> {
  const untracked = options.untracked ? 'all' : 'no';
  const args = [
    'status',
    '--porcelain=v2',
    '-z',
    // Also prints HEAD, which saves a git process. The distance to the upstream branch would require a walk.
    '--branch',
    '--no-ahead-behind',
    '--no-renames',
    '--ignore-submodules=none',
    `--untracked-files=${untracked}`,
    ...(options.path === undefined ? [] : ['--', `:(top,literal)${options.path}`]),
  ];
  return parseStatus(splitRows((await git.run(args)).stdout));
}

function parseStatus(rows: Buffer[]): HeadAndStatus {
  const head: Head = { ref: null, oid: null };
  const status: WorkspaceStatus = { edits: [], unmerged: [], untracked: [] };
  for (const bytes of rows) {
    const row = bytes.toString('utf8');
    if (row.startsWith('1 ')) status.edits.push(parseEdit(row, bytes));
    else if (row.startsWith('u ')) status.unmerged.push(repoPathFromGit(row.split(' ').slice(10).join(' ')));
    else if (row.startsWith('? ')) status.untracked.push(repoPathFromGit(row.slice(2)));
    else if (row.startsWith('# branch.')) parseHeadRow(row.slice('# branch.'.length), head);
  }
  return { head, status };
}

function parseHeadRow(row: string, head: Head): void {
  const [field, value = ''] = [row.slice(0, row.indexOf(' ')), row.slice(row.indexOf(' ') + 1)];
  if (field === 'oid' && value !== '(initial)') head.oid = parseOid(value);
  if (field === 'head' && value !== '(detached)') head.ref = `refs/heads/${value}` as RefName;
}

/** Parses `1 XY sub mH mI mW hH hI path`. */
function parseEdit(row: string, bytes: Buffer): Edit {
  const [, letters = '..', submodule = 'N...', ...rest] = row.split(' ');
  const path = rest.slice(5).join(' ');
  return {
    path: repoPathFromGit(path),
    staged: letters.charAt(0),
    unstaged: letters.charAt(1),
    submodule: submodule.startsWith('S'),
    // Everything before the path is ASCII.
    ...(isUtf8(bytes) ? {} : { quotedName: quoteName(bytes.subarray(row.length - path.length)) }),
  };
}

function splitRows(bytes: Buffer): Buffer[] {
  const rows: Buffer[] = [];
  for (let at = 0, end = bytes.indexOf(0); end !== -1; at = end + 1, end = bytes.indexOf(0, at)) {
    rows.push(bytes.subarray(at, end));
  }
  return rows;
}

/** Quotes a name as git does: `"caf\351.txt"`. */
function quoteName(bytes: Buffer): string {
  const parts = [...bytes].map((byte) => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
    if (byte >= 0x20 && byte < 0x7f) return String.fromCharCode(byte);
    return `\\${byte.toString(8).padStart(3, '0')}`;
  });
  return `"${parts.join('')}"`;
}
