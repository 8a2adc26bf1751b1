/** Checks that git runs teddy's installed hooks, and finds the reasons why it does not. */
import type { HookSource } from '../../ports/git.ts';
import {
  describePlace,
  isOurs,
  isSwitchedOff,
  listHooks,
  listOwn,
  type HookedProject,
  type ListedHook,
  type ListedHooks,
} from './list.ts';

/** A problem that keeps installed hooks from working; `teddy hooks install` fixes it, or explains how to fix it. */
export interface BrokenHook {
  path: string;
  /** Follows the path in a sentence: `is missing`. */
  what: string;
}

/** Reports to the doctor which of teddy's hooks git runs here, and the faults of the installed ones. */
export async function examineHooks(project: HookedProject, source: HookSource) {
  const { place, hooks, broken } = await checkHooks(project, source);
  const isNone = broken.length === 0 && !hooks.some(callsTeddy);
  return {
    found: broken.map(({ path, what }) => ({
      kind: 'hooks' as const,
      thing: path,
      meaning: `${path} ${what}.`,
      todo: '`teddy hooks install` fixes this, or explains how to.',
    })),
    seen: isNone ? "git hooks (teddy's are not installed)" : 'git hooks',
    notes: isNone ? [] : [`${describePlace(place)}: ${describeStates(hooks)}.`],
  };
}

/**
 * Finds problems that keep installed hooks from working. Calls git only when the repository's own directory contains
 * teddy's hooks.
 */
export async function findBrokenHooks(project: HookedProject, source: HookSource): Promise<BrokenHook[]> {
  const own = await listOwn(project, source);
  return own.some(isOurs) ? (await checkHooks(project, source)).broken : [];
}

async function checkHooks(project: HookedProject, source: HookSource) {
  const { place, hooks } = await listHooks(project, source);
  const find = hooks.some(callsTeddy) ? findBrokenHere : findLeft;
  return { place, hooks, broken: await find(project, source, { place, hooks }) };
}

export function callsTeddy(hook: ListedHook): boolean {
  return isOurs(hook) || hook.state === 'called';
}

async function findBrokenHere(
  { repository: { hooks: files } }: HookedProject,
  source: HookSource,
  { place, hooks }: ListedHooks,
): Promise<BrokenHook[]> {
  const broken = hooks.map(async (hook): Promise<BrokenHook[]> => {
    const { path, state } = hook;
    if (isOurs(hook) && (await files.read(path))?.isExecutable === false)
      return [{ path, what: 'is not executable, so git ignores it' }];
    if (state === 'edited') return [{ path, what: 'was changed since teddy installed it' }];
    if (isOurs(hook)) return [];
    // A project's authors choose which of their hooks call teddy.
    if (state === 'called' || place.kind === 'work-tree') return [];
    return [{ path, what: state === 'missing' ? 'is missing' : 'no longer calls teddy' }];
  });
  const programs = new Set(hooks.flatMap(({ program }) => program ?? []));
  const gone = [...programs].map(async (path): Promise<BrokenHook[]> => {
    if ((await files.read(path)) !== null || (await source.isOnPath())) return [];
    return [{ path, what: 'no longer exists, but the hooks start teddy from there' }];
  });
  return (await Promise.all([...broken, ...gone])).flat();
}

/** Finds teddy's hooks that git no longer runs, because its configuration names another directory. */
async function findLeft(project: HookedProject, source: HookSource, { place }: ListedHooks): Promise<BrokenHook[]> {
  const left = (await listOwn(project, source)).find(isOurs);
  if (left === undefined) return [];
  const where = isSwitchedOff(place) ? 'runs no hooks' : `looks for hooks in ${place.dir}`;
  return [{ path: left.path, what: `is not run: git ${where} (core.hooksPath, ${place.origin})` }];
}

/** `installed: pre-push, commit-msg; missing: post-checkout`. */
function describeStates(hooks: ListedHook[]): string {
  const nameOf = ({ name, before }: ListedHook) => (before === null ? name : `${name} (${before} was there before)`);
  const states = [...new Set(hooks.map(({ state }) => state))];
  return states
    .map(
      (state) =>
        `${state}: ${hooks
          .filter((hook) => hook.state === state)
          .map(nameOf)
          .join(', ')}`,
    )
    .join('; ');
}
