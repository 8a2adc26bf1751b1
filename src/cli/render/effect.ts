/** Shows what an action would do or has done to files. */
import type { Effect } from '../../plan/effects/effect.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { Undone } from '../../workflow/turn/undo.ts';
import { shortRef } from '../../names.ts';
import type { Terminal } from '../terminal.ts';

/** Describes the effect without repeating the content of `title`. Other code shows the diff. */
export function renderEffect(effect: Effect, title: string): string {
  if (effect.kind === 'write') return '';
  if (effect.kind === 'read' || effect.kind === 'fetch') {
    const shown = effect.kind === 'read' ? effect.path : effect.url;
    const lines = effect.lines === null ? [] : [`lines ${effect.lines}`];
    const said = [...(title.endsWith(` ${shown}`) ? [] : [shown]), ...lines];
    return said.length === 0 ? '' : toVisible(`  ${said.join(', ')}`);
  }
  if (effect.kind === 'prune') return title.endsWith(` ${effect.resource}`) ? '' : toVisible(`  ${effect.resource}`);
  if (effect.kind === 'invoke') return toVisible(`  hand over to ${effect.agent}: ${effect.text}`);
  if (effect.kind === 'search') return effect.queries.map((query) => toVisible(`  ? ${query}`)).join('\n');
  // The title has only the first line.
  if (effect.kind === 'ask')
    return effect.text.trim().includes('\n') ? toVisible(effect.text.trim().replace(/^(?=.)/gm, '  ')) : '';
  const env = Object.entries(effect.env).map(([key, value]) => `  ${key}=${value}`);
  const place = effect.cwd === '.' ? [] : [`  in ${effect.cwd}`];
  const script = effect.script
    .trimEnd()
    .split('\n')
    .map((line) => `  $ ${line}`);
  return [...place, ...env, ...script].map(toVisible).join('\n');
}

/** Renders the result of `teddy undo`, for the user and for a program. */
export function toUndoneJson({ line, turn, isRedo, commit, restored, left }: Undone): object {
  return { session: line.session, line: shortRef(line.ref), turn, redo: isRedo, commit, restored, left };
}

/** `option` names the line in a suggested command, when the command needs it. */
export function showUndone(terminal: Terminal, { turn, isRedo, commit, restored, left }: Undone, option: string): void {
  const warning = terminal.style('yellow', 'warning:', 'stderr');
  for (const { path, reason } of left)
    terminal.say(`${warning} ${toVisible(path)} was left unchanged: ${toVisible(reason)}.`);
  const files = `${restored.length} ${restored.length === 1 ? 'file' : 'files'}`;
  terminal.print(`${files} of turn ${turn} ${isRedo ? 'put back' : 'taken back'}, undo ${commit.slice(0, 10)}\n`);
  terminal.say(`See it: git show ${commit.slice(0, 10)}`);
  terminal.say(`Back: teddy undo ${turn}${option}`);
}
