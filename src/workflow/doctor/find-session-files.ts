/** Files of `.teddy/` in this work tree that are not as the line has them. */
import type { Edit, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global-files.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { findHeadLine } from '../line/find.ts';
import { editableFiles, equalBytes } from '../line/guard-session-files.ts';
import type { Examination, Found } from './finding.ts';

export const findSessionFiles: Examination = async ({ project }) => {
  const line = await findHeadLine(project);
  const { workspace } = project.repository;
  if (line === null || line.tip === null || workspace === null) return { found: [], seen: null };
  // In the middle of a merge or rebase they are what git makes of them.
  if ((await workspace.operationInProgress(line.ref)) !== null) return { found: [], seen: null };
  const status = await workspace.status({ untracked: false, path: '.teddy' as RepoPath });
  const editable = editableFiles(line.session);
  const found: Found[] = [];
  for (const edit of status.edits.filter(({ path }) => isSessionPath(path))) {
    found.push(...(await judge(project, workspace, line.tip, edit, editable)));
  }
  return { found, seen: 'session files' };
};

async function judge(
  { repository: { store } }: Project,
  workspace: Workspace,
  tip: Oid,
  { path, unstaged }: Edit,
  editable: RepoPath[],
): Promise<Found[]> {
  const published = await store.readFile(tip, path);
  const disk = unstaged === 'D' ? null : await workspace.readDisk(path);
  if (published === null || (disk !== null && equalBytes(disk, published.bytes))) return [];
  const found = { kind: 'session-file' as const, thing: path };
  if (disk === null) {
    return [
      {
        ...found,
        meaning: `${path} is on the line, and not on disk.`,
        fix: 'writes it again, as the next command on the line does',
        todo: null,
        async mend() {
          await workspace.writeSessionFile(path, published.bytes);
          return 'It is written again.';
        },
      },
    ];
  }
  if (editable.includes(path)) return [];
  return [
    {
      ...found,
      meaning: `${path} differs from what was published, and published files never change.`,
      fix: null,
      todo: `Take it back: \`git restore --source=HEAD --staged --worktree ${toShellWord(path)}\`.`,
      mend: null,
    },
  ];
}
