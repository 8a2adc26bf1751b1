/** The types that the steps of a landing share, and the command that lands. */
import { toShellWord } from '../../session/shell-word.ts';
import type { Oid, RefName, SessionId } from '../../names.ts';

export interface LandRequest {
  /** A session or a line, also an archived one; without it the line that HEAD is on, else the newest session. */
  target?: string | undefined;
  /** Without it: the branch that the session started from. */
  onto?: string | undefined;
  /** Subject and body; without it made of the turns. */
  message?: string | undefined;
  /** A person writes it, from what would be the message otherwise. */
  edit?: ((message: string) => Promise<string>) | undefined;
  isDryRun?: boolean;
  /** Edits of the user's that were there before the session's first message land without a question. */
  withOwnEdits?: boolean;
}

export interface LandableLine {
  session: SessionId;
  name: string;
  ref: RefName;
  tip: Oid;
}

/** The command that lands a line with all that was given, but for what is `changed`. */
export function toLandCommand(name: string, request: LandRequest, changed: Partial<LandRequest> = {}): string {
  const { onto, message, edit, withOwnEdits, isDryRun } = { ...request, ...changed };
  return [
    `teddy session land -s ${toShellWord(name)}`,
    ...(onto === undefined ? [] : ['--onto', toShellWord(onto)]),
    ...(message === undefined ? [] : ['-m', toShellWord(message)]),
    ...(edit === undefined ? [] : ['--edit']),
    ...(withOwnEdits === true ? ['--with-own-edits'] : []),
    ...(isDryRun === true ? ['--dry-run'] : []),
  ].join(' ');
}
