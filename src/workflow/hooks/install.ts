/** Installs teddy's hooks where git looks for them, or removes them. Keeps an existing hook, which runs first. */
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
import type { FileChange, Part } from '../../ports/setup.ts';
import { equalBytes } from '../../session/text/bytes.ts';
import { callsTeddy, examineHooks } from './check.ts';

export interface InstalledHooks {
  place: HookTarget;
  /** The hooks after this call; `changed` marks the ones that it has changed. */
  hooks: (ListedHook & { changed: boolean })[];
  /** The project's files that its authors must edit, each with the line that it needs. */
  byHand: { path: string; line: string }[];
}

/**
 * Installs the hooks. With `shared`, does so even where other repositories use the same hooks. Throws HOOK_IN_THE_WAY;
 * in that case nothing changes.
 */
export async function installHooks(
  project: HookedProject,
  source: HookSource,
  { shared }: { shared: boolean },
): Promise<InstalledHooks> {
  const { place, hooks } = await listHooks(project, source);
  if (isSwitchedOff(place)) throw toSwitchedOff(place);
  if (place.kind === 'work-tree') return leaveToAuthors(place, hooks);
  if (place.kind === 'shared' && !shared) throw toShared(place, 'installed there');
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

/**
 * Works in a linked work tree, too, where `.git` is a file. A value in the work tree's own configuration overrides the
 * repository's.
 */
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

/** Refuses when the path for keeping the existing hook is taken, unless by the second name that teddy left when it crashed. */
async function refuseInTheWay(hooks: Hooks, { path, state, before }: ListedHook): Promise<void> {
  if (state === 'edited')
    throw new TeddyError(
      'HOOK_IN_THE_WAY',
      `${path} was installed by teddy and has been changed since; installing again would lose the change.`,
      `Move the change to a script of its own, ${beforePath(path)}, which runs first. Then remove ${path}, and install again.`,
    );
  if (state !== 'foreign') return;
  const file = await hooks.read(path);
  if (file !== null && file.text === null)
    throw new TeddyError(
      'HOOK_IN_THE_WAY',
      `${path} is not a script.`,
      'Move it away, or check where it leads, and install again.',
    );
  if (before === null || (await hooks.read(before))?.text === file?.text) return;
  throw new TeddyError(
    'HOOK_IN_THE_WAY',
    `${path} was replaced after teddy's hook was installed, and the previous one is still at ${before}.`,
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
  /** The repository's own hooks directory, if it contains teddy's hooks while git looks elsewhere; otherwise null. */
  elsewhere: string | null;
  hooks: (ListedHook & { removed: boolean; restored: boolean })[];
}

/**
 * Removes the hooks and restores the previous ones. With `shared`, does so even where other repositories use the same
 * hooks; otherwise throws HOOK_IN_THE_WAY in that case.
 */
export async function uninstallHooks(
  project: HookedProject,
  source: HookSource,
  { shared }: { shared: boolean },
): Promise<UninstalledHooks> {
  const { place, hooks } = await listHooks(project, source);
  if (place.kind === 'shared' && !shared && hooks.some(isToRemove)) throw toShared(place, 'removed');
  const done = [];
  for (const hook of hooks) {
    if (place.kind !== 'shared' || shared) await dropSecondName(project.repository.hooks, hook);
    const removed = isToRemove(hook);
    if (removed) await project.repository.hooks.putBack(hook.path, hook.before);
    done.push({ ...hook, removed, restored: removed && hook.before !== null });
  }
  const { ownDir } = project.repository.hooks;
  const isLeft = place.dir !== ownDir && (await listOwn(project, source)).some(isOurs);
  return { place, hooks: done, elsewhere: isLeft ? ownDir : null };
}

/**
 * Returns true if there is a hook to remove or restore: if the user deleted teddy's hook by hand, this still restores
 * the hook that it had replaced.
 */
function isToRemove({ state, before }: ListedHook): boolean {
  return state === 'installed' || state === 'outdated' || (state === 'missing' && before !== null);
}

/** A killed installation may have given the user's hook its second name, and not replaced it. */
async function isKeptTwice(hooks: Hooks, { path, state, before }: ListedHook): Promise<boolean> {
  if (state !== 'foreign' || before === null) return false;
  const text = (await hooks.read(path))?.text ?? null;
  return text !== null && (await hooks.read(before))?.text === text;
}

async function dropSecondName(hooks: Hooks, hook: ListedHook): Promise<void> {
  if (hook.before !== null && (await isKeptTwice(hooks, hook))) await hooks.putBack(hook.before, null);
}

export function hooksPart(project: HookedProject, source: HookSource): Part {
  const toBytes = async (path: string) => {
    const text = (await project.repository.hooks.read(path))?.text ?? null;
    return text === null ? null : new TextEncoder().encode(text);
  };
  /** Explains why the hooks are not for this command to install; null when they are. */
  const findObstacle = ({ kind, dir, origin }: HookTarget): string | null => {
    if (isSwitchedOff({ kind, dir, origin })) return `Hooks are switched off by core.hooksPath (${origin}).`;
    if (kind === 'work-tree')
      return "This repository's hooks belong to the project: `teddy hooks install` prints the lines to add.";
    if (kind === 'shared')
      return 'Other repositories use the same hooks: `teddy hooks install --shared` adds teddy to them.';
    return null;
  };
  return {
    name: 'hooks',
    async look() {
      const { place, hooks } = await listHooks(project, source);
      const [damaged] = (await examineHooks(project, source)).found;
      if (damaged !== undefined) return { state: 'partly', why: damaged.meaning };
      if (hooks.some(callsTeddy)) return { state: 'set-up', why: null };
      const why = findObstacle(place);
      return { state: why === null ? 'missing' : 'not-applicable', why };
    },
    async planSetUp() {
      const { place, hooks } = await listHooks(project, source);
      const obstacle = findObstacle(place);
      if (obstacle !== null) return hooks.some(callsTeddy) ? [] : [obstacle];
      const changes: FileChange[] = [];
      for (const { name, path, state, before: kept } of hooks) {
        if (state === 'called') continue;
        const before = await toBytes(path);
        const script = renderHook(await source.readScript(name), source.program, project.hash);
        const after = new TextEncoder().encode(script);
        if (state === 'installed' && equalBytes(before, after)) continue;
        if (state === 'foreign' && kept === null) changes.push({ path: beforePath(path), before: null, after: before });
        changes.push({ path, before, after });
      }
      const carryOut = async () => void (await installHooks(project, source, { shared: false }));
      const does = 'Make git name sessions in your commits and verify what you push';
      return changes.length === 0 ? [] : [{ does, changes, carryOut }];
    },
    async planRemoval() {
      const changes: FileChange[] = [];
      const notes: string[] = [];
      for (const hook of (await listHooks(project, source)).hooks) {
        const { path, state, before: kept } = hook;
        if (state === 'edited' || state === 'called')
          notes.push(`${path} stays: remove teddy's lines from it by hand.`);
        if (kept !== null && (await isKeptTwice(project.repository.hooks, hook)))
          changes.push({ path: kept, before: await toBytes(kept), after: null });
        if (state !== 'installed' && state !== 'outdated') continue;
        changes.push({ path, before: await toBytes(path), after: kept === null ? null : await toBytes(kept) });
      }
      const carryOut = async () => void (await uninstallHooks(project, source, { shared: false }));
      const step = { does: "Remove teddy's git hooks, and restore those before them", changes, carryOut };
      return changes.length === 0 ? notes : [...notes, step];
    },
  };
}
