import { shortRef } from '../../names.ts';
import type { Branched } from '../../workflow/turn/branch-session.ts';
import type { Head } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { toShellWord } from '../../session/shell-word.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/visible-text.ts';

/** How to get back to what HEAD was on before; `root` is another work tree, whose HEAD it was. */
export function sayBack(terminal: Terminal, before: Head | undefined, root?: string): void {
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

/** Tells what HEAD was on, and of which work tree, where the line was checked out in another one than this. */
export function toSwitched(
  { repository: { workspace: own } }: Project,
  { ref, workspace }: Branched['from'],
  before: Head | undefined,
): { before: Head | undefined; root?: string } {
  if (workspace === null || workspace === own) return { before };
  return { before: { ref, oid: null }, root: workspace.root };
}
