/** Takes teddy's hooks away, and puts back what was there before, as it was. */
import type { HookTarget, HookSource } from '../../ports/git.ts';
import { toShared } from './install.ts';
import { listHooks, type HookedProject, type ListedHook } from './list.ts';

export interface UninstalledHooks {
  place: HookTarget;
  hooks: (ListedHook & { removed: boolean; restored: boolean })[];
}

/** `shared`: also where other repositories use the same hooks; else that throws HOOK_IN_THE_WAY. */
export async function uninstallHooks(
  project: HookedProject,
  source: HookSource,
  { shared }: { shared: boolean },
): Promise<UninstalledHooks> {
  const { place, hooks } = await listHooks(project, source);
  if (place.kind === 'shared' && !shared && hooks.some(isToRemove)) throw toShared(place, 'taken away');
  const done = [];
  for (const hook of hooks) {
    const removed = isToRemove(hook);
    if (removed) await project.repository.hooks.putBack(hook.path, hook.before);
    done.push({ ...hook, removed, restored: removed && hook.before !== null });
  }
  return { place, hooks: done };
}

/** Where ours was deleted by hand, what it had put aside still comes back. */
function isToRemove({ state, before }: ListedHook): boolean {
  return state === 'installed' || state === 'outdated' || (state === 'missing' && before !== null);
}
