import { shortRef } from '../../names.ts';
import type { Branched } from '../../workflow/turn/branch-session.ts';
import type { Terminal } from '../terminal.ts';

export function showBranched(terminal: Terminal, { ref, turn, switched }: Branched): void {
  const branch = terminal.style('bold', shortRef(ref), 'stderr');
  terminal.say(`${switched ? 'Switched to' : 'Made'} the new branch ${branch}, turn ${turn}.`);
}
