/** Renders the result of `session undo`, for a person and for a program. */
import type { Undone } from '../../workflow/turn/undo.ts';
import { shortRef } from '../../names.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/visible-text.ts';

export function toUndoneJson({ line, turn, isRedo, commit, restored, left }: Undone): object {
  return { session: line.session, line: shortRef(line.ref), turn, redo: isRedo, commit, restored, left };
}

/** `option` names the line in a command, where that is needed. */
export function showUndone(terminal: Terminal, { turn, isRedo, commit, restored, left }: Undone, option: string): void {
  const warning = terminal.style('yellow', 'warning:', 'stderr');
  for (const { path, reason } of left)
    terminal.say(`${warning} ${toVisible(path)} was left as it is: ${toVisible(reason)}.`);
  const files = `${restored.length} ${restored.length === 1 ? 'file' : 'files'}`;
  terminal.print(`${files} of turn ${turn} ${isRedo ? 'put back' : 'taken back'}, undo ${commit.slice(0, 10)}\n`);
  terminal.say(`See it: git show ${commit.slice(0, 10)}`);
  terminal.say(`Back: teddy session undo ${turn}${option}`);
}
