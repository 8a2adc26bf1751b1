/** Names the line in a command that teddy suggests. */
import type { Workspace, Head } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { mainLineRef, shortRef, type RefName, type SessionId } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { findWayTo } from '../../workflow/line/way-to-line.ts';
import type { Branched } from '../../workflow/turn/branch-session.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

interface NamedLine {
  ref: RefName;
  session: SessionId;
  /** The work tree whose HEAD is on the line, if any. */
  workspace: Workspace | null;
}

/** Returns ` -s <line>`, or an empty text when this work tree's HEAD is on the line and a command uses that line anyway. */
export function toLineOption({ repository }: Project, line: NamedLine): string {
  const isHere = line.workspace !== null && line.workspace === repository.workspace;
  return isHere ? '' : ` -s ${toShellWord(toLineWord(line))}`;
}

/** Returns the command that executes the line's plan from here. Execution needs files, and HEAD on the line. */
export async function toExecuteCommand(project: Project, line: NamedLine): Promise<string> {
  if (line.workspace !== null) return `teddy execute${toLineOption(project, line)}`;
  if (project.repository.workspace === null) return `teddy execute -s ${toShellWord(shortRef(line.ref))} --worktree`;
  return `${await findWayTo(project, line)} && teddy execute`;
}

/** The session's ID names its main line. */
function toLineWord({ ref, session }: NamedLine): string {
  return ref === mainLineRef(session) ? session : shortRef(ref);
}

/** Suggests how to get back to the earlier HEAD; `root` is another work tree if that HEAD was in it. */
export function suggestWayBack(terminal: Terminal, before: Head | undefined, root?: string): void {
  if (before === undefined || (before.ref === null && before.oid === null)) return;
  const place = before.ref === null ? `--detach ${before.oid?.slice(0, 12)}` : toShellWord(shortRef(before.ref));
  const git = root === undefined ? 'git' : `git -C ${toShellWord(root)}`;
  terminal.say(toVisible(`Back: ${git} switch ${place}`));
}

export function showBranched(terminal: Terminal, { ref, turn, switched }: Branched, root?: string): void {
  const branch = terminal.style('bold', shortRef(ref), 'stderr');
  const did = !switched ? 'Made' : root === undefined ? 'Switched to' : `Switched ${toVisible(root)} to`;
  terminal.say(`${did} the new branch ${branch}, turn ${turn}.`);
}

/** Returns the earlier HEAD, and the work tree if another one had the line checked out. */
export function toSwitched(
  { repository: { workspace: own } }: Project,
  { ref, workspace }: Branched['from'],
  before: Head | undefined,
): { before: Head | undefined; root?: string } {
  if (workspace === null || workspace === own) return { before };
  return { before: { ref, oid: null }, root: workspace.root };
}
