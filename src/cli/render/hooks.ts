/** Shows the hooks of git, and where they are. */
import type { HookTarget } from '../../ports/git.ts';
import { toVisible } from '../../session/visible-text.ts';
import { describePlace, type ListedHook } from '../../workflow/hooks/list.ts';

export function toPlaceJson({ dir, kind, origin }: HookTarget) {
  return { directory: dir, kind, hooksPath: origin };
}

export function toHookJson({ name, path, state, before, program }: ListedHook) {
  return { name, path, state, before, program };
}

export function renderPlace(place: HookTarget): string {
  return toVisible(describePlace(place));
}

export function renderHook({ name, path, state, before }: ListedHook): string {
  const ways = {
    outdated: ', run `teddy hooks install`',
    edited: `, ${path} was changed since, so teddy leaves it alone`,
    foreign: `, ${path} does not call teddy`,
  };
  const way = state === 'outdated' || state === 'edited' || state === 'foreign' ? ways[state] : '';
  const runs = state === 'installed' || state === 'outdated' || state === 'edited';
  const kept = before === null ? '' : `, ${before} ${runs ? 'runs first' : 'is not run'}`;
  return toVisible(`  ${name.padEnd(18)}  ${state}${way}${kept}`);
}
