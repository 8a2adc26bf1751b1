import type { Effect } from '../../plan/effect.ts';
import { toVisible } from '../../session/visible-text.ts';

/** Describes the effect, without repeating what `title` says. A diff is shown separately. */
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
  // The title has the first line alone.
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
