/** Puts teddy's hooks where git looks for them, or takes them away. What is there already is kept, and runs first. */
import { TeddyError } from '../../errors.ts';
import type { HookTarget, Hooks, HookSource } from '../../ports/git.ts';
import {
  beforePath,
  callOf,
  isOurs,
  isSwitchedOff,
  listHooks,
  listOwn,
  renderHook,
  type HookedProject,
  type ListedHook,
} from './list.ts';

export interface InstalledHooks {
  place: HookTarget;
  /** The hooks by now; `changed`: this call has changed them. */
  hooks: (ListedHook & { changed: boolean })[];
  /** Files of the project, which are its authors' to edit, each with the line that it needs. */
  byHand: { path: string; line: string }[];
}

/** `shared`: also where other repositories use the same hooks. Throws HOOK_IN_THE_WAY, and has changed nothing then. */
export async function installHooks(
  project: HookedProject,
  source: HookSource,
  { shared }: { shared: boolean },
): Promise<InstalledHooks> {
  const { place, hooks } = await listHooks(project, source);
  if (isSwitchedOff(place)) throw toSwitchedOff(place);
  if (place.kind === 'work-tree') return leaveToAuthors(place, hooks);
  if (place.kind === 'shared' && !shared) throw toShared(place, 'put there');
  const wanted = hooks.filter(({ state }) => state !== 'called');
  for (const hook of wanted) await refuseInTheWay(project.repository.hooks, hook);
  const changed = new Set<string>();
  for (const hook of wanted) if (await install(project, source, hook)) changed.add(hook.name);
  const now = await listHooks(project, source);
  return { place, hooks: now.hooks.map((hook) => ({ ...hook, changed: changed.has(hook.name) })), byHand: [] };
}

function leaveToAuthors(place: HookTarget, hooks: ListedHook[]): InstalledHooks {
  const silent = hooks.filter(({ state }) => state === 'foreign' || state === 'missing');
  return {
    place,
    hooks: hooks.map((hook) => ({ ...hook, changed: false })),
    byHand: silent.map(({ name, path }) => ({ path, line: callOf(name) })),
  };
}

/** Also right in a linked work tree, where `.git` is a file. A value of the work tree's own configuration counts before one of the repository's. */
function toOwnHooks({ origin }: HookTarget): string {
  const option = origin?.startsWith('worktree ') === true ? '--worktree ' : '';
  return `\`git config ${option}core.hooksPath "$(git rev-parse --path-format=absolute --git-common-dir)/hooks"\``;
}

function toSwitchedOff(place: HookTarget): TeddyError {
  return new TeddyError(
    'HOOK_IN_THE_WAY',
    `Hooks are switched off: core.hooksPath is ${place.dir === '' ? 'empty' : place.dir} (${place.origin}).`,
    `Unset it there, or give this repository hooks of its own: ${toOwnHooks(place)}.`,
  );
}

function toShared(place: HookTarget, options: string): TeddyError {
  const { dir, origin } = place;
  return new TeddyError(
    'HOOK_IN_THE_WAY',
    `Other repositories use the same hooks: core.hooksPath is ${dir} (${origin}).`,
    `With \`--shared\` they are ${options}; or give this repository hooks of its own: ${toOwnHooks(place)}.`,
  );
}

/** The place where it would be kept must be free, but for the second name that a crash of ours has left. */
async function refuseInTheWay(hooks: Hooks, { path, state, before }: ListedHook): Promise<void> {
  if (state === 'edited')
    throw new TeddyError(
      'HOOK_IN_THE_WAY',
      `${path} was installed by teddy and has been changed since; what somebody has added to it would be lost.`,
      `Move what was added to a script of its own, ${beforePath(path)}, which runs first; remove ${path}, and install again.`,
    );
  if (state !== 'foreign') return;
  const file = await hooks.read(path);
  if (file !== null && file.text === null)
    throw new TeddyError(
      'HOOK_IN_THE_WAY',
      `${path} is no script.`,
      'Move it away, or see where it leads, and install again.',
    );
  if (before === null || (await hooks.read(before))?.text === file?.text) return;
  throw new TeddyError(
    'HOOK_IN_THE_WAY',
    `${path} was replaced after teddy's hook was installed, and the one from before is still at ${before}.`,
    'Move one of the two away, and install again.',
  );
}

async function install(
  { repository: { hooks }, hash }: HookedProject,
  source: HookSource,
  { name, path, state, before }: ListedHook,
): Promise<boolean> {
  const script = renderHook(await source.readScript(name), source.program, hash);
  if (state === 'installed' && (await hooks.read(path))?.text === script) return false;
  if (state === 'foreign' && before === null) await hooks.keep(path, beforePath(path));
  await hooks.install(path, script);
  return true;
}

export interface UninstalledHooks {
  place: HookTarget;
  /** The directory of the repository that has hooks of teddy's while git looks elsewhere; null: there are none. */
  elsewhere: string | null;
  hooks: (ListedHook & { removed: boolean; restored: boolean })[];
}

/** Puts back what was there before. `shared`: also where others use the same hooks; else that throws HOOK_IN_THE_WAY. */
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
  const { ownDir } = project.repository.hooks;
  const isLeft = place.dir !== ownDir && (await listOwn(project, source)).some(isOurs);
  return { place, hooks: done, elsewhere: isLeft ? ownDir : null };
}

/** Where ours was deleted by hand, what it had put aside still comes back. */
function isToRemove({ state, before }: ListedHook): boolean {
  return state === 'installed' || state === 'outdated' || (state === 'missing' && before !== null);
}
