/** Names the line in a command that teddy suggests. */
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { mainLineRef, shortRef, type RefName, type SessionId } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { findWayTo } from '../../workflow/line/way-to-line.ts';

interface NamedLine {
  ref: RefName;
  session: SessionId;
  /** The work tree whose HEAD is on the line, if any. */
  workspace: Workspace | null;
}

/** ` -s <line>`; empty when HEAD of this work tree is on the line, so that a command acts on it anyway. */
export function toLineOption({ repository }: Project, line: NamedLine): string {
  const isHere = line.workspace !== null && line.workspace === repository.workspace;
  return isHere ? '' : ` -s ${toShellWord(toLineWord(line))}`;
}

/** The command that executes the line's plan from here; it needs files, and HEAD on the line. */
export async function toExecuteCommand(project: Project, line: NamedLine): Promise<string> {
  if (line.workspace !== null) return `teddy session execute${toLineOption(project, line)}`;
  if (project.repository.workspace === null)
    return `teddy session execute -s ${toShellWord(shortRef(line.ref))} --worktree`;
  return `${await findWayTo(project, line)} && teddy session execute`;
}

/** The session's id names its main line. */
function toLineWord({ ref, session }: NamedLine): string {
  return ref === mainLineRef(session) ? session : shortRef(ref);
}
