import { shortRef } from '../../names.ts';
import type { Branched } from '../../workflow/turn/branch-session.ts';
import type { Head } from '../../ports/git.ts';
import { toShellWord } from '../../session/shell-word.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/visible-text.ts';

/** How to get back to what HEAD was on before. */
export function sayBack(terminal: Terminal, before: Head | undefined): void {
  if (before === undefined || (before.ref === null && before.oid === null)) return;
  const place = before.ref === null ? `--detach ${before.oid?.slice(0, 12)}` : toShellWord(shortRef(before.ref));
  terminal.say(`Back: git switch ${toVisible(place)}`);
}

export function showBranched(terminal: Terminal, { ref, turn, switched }: Branched): void {
  const branch = terminal.style('bold', shortRef(ref), 'stderr');
  terminal.say(`${switched ? 'Switched to' : 'Made'} the new branch ${branch}, turn ${turn}.`);
}
