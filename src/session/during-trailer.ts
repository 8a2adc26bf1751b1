/** The trailers that the user's own commits carry: on a line in which session and turn they were made, and who had a part in them. */
import { leaveOutKnown } from './assisted-by.ts';
import { endsInTrailers } from './trailers.ts';
import type { SessionId, TurnName } from '../names.ts';

export interface MessageForm {
  /** git adds comments to it, for a person in an editor. Without: a line that looks like one belongs to the message. */
  hasComments: boolean;
  /** The beginning of a comment, by `core.commentChar`: `#`, `auto`. */
  comment: string;
}

/** `turn` null: the session has none yet. */
export function duringTrailer(session: SessionId, turn: TurnName | null): string {
  return `Teddy-During: ${turn === null ? session : `${session} ${turn}`}`;
}

/**
 * The message of a commit, comments included, with the trailers as the last thing that is said in it; all else stays as it is.
 * Nothing is added to an empty message, which is how a commit is called off; to one that has teddy's trailers already; or to
 * one that `git rebase --autosquash` will take apart. A trailer that the message has is not added again.
 */
export function addDuring(text: string, trailers: readonly string[], form: MessageForm): string {
  const end = findEnd(text, form);
  const said = text.slice(0, end);
  const lines = said.split('\n').filter((line) => !isComment(line, text, form));
  const subject = lines.find((line) => line.trim() !== '');
  if (subject === undefined || /^(?:fixup|squash|amend)! /.test(subject)) return text;
  if (/^Teddy-(?:During|Session|Landed-From):/im.test(said)) return text;
  const kept = lines.join('\n');
  const added = leaveOutKnown(kept, trailers);
  if (added.length === 0) return text;
  const rest = text.slice(end);
  return `${said}${endsInTrailers(kept) ? '\n' : '\n\n'}${added.join('\n')}${rest === '' ? '\n' : rest}`;
}

/** Where the last line of the message ends: before git's comments, and before the diff that `commit --verbose` shows. */
function findEnd(text: string, form: MessageForm): number {
  const cut = form.hasComments ? text.search(/^\S+ -{24} >8 -{24}$/m) : -1;
  const lines = (cut === -1 ? text : text.slice(0, cut)).split('\n');
  while (lines.length > 0 && isIdle(lines.at(-1) ?? '', text, form)) lines.pop();
  return lines.join('\n').length;
}

function isIdle(line: string, text: string, form: MessageForm): boolean {
  return line.trim() === '' || isComment(line, text, form);
}

function isComment(line: string, text: string, { hasComments, comment }: MessageForm): boolean {
  return hasComments && line.startsWith(comment === 'auto' ? chosenComment(text) : comment);
}

/** With `auto` git chooses one that no line of the message begins with; its comments are the last lines. */
function chosenComment(text: string): string {
  const cut = /^(\S+) -{24} >8 -{24}$/m.exec(text)?.[1];
  return cut ?? /^([#;@!$%^&|:])[^\n]*$/.exec(text.trimEnd().split('\n').at(-1) ?? '')?.[1] ?? '#';
}
