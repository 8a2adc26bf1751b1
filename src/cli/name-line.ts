/** How a command that is suggested names its line. */
import type { Project, Workspace } from '../ports.ts';
import { mainLineRef, shortRef, type RefName, type SessionId } from '../session/names.ts';
import { toShellWord } from '../session/shell-word.ts';

interface NamedLine {
  ref: RefName;
  session: SessionId;
  /** The work tree whose HEAD is on the line, if any. */
  workspace: Workspace | null;
}

/** ` -s <line>`; empty where HEAD of this work tree is on the line, so that a command means it without being told. */
export function toLineOption({ repository }: Project, line: NamedLine): string {
  const isHere = line.workspace !== null && line.workspace === repository.workspace;
  return isHere ? '' : ` -s ${toShellWord(toLineWord(line))}`;
}

/** The session's id stands for its own line. */
function toLineWord({ ref, session }: NamedLine): string {
  return ref === mainLineRef(session) ? session : shortRef(ref);
}
