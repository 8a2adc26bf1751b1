/** The git hooks as a part of what `teddy init` sets up. */
import type { HookSource, HookTarget } from '../../ports/git.ts';
import type { FileChange, Part } from '../../ports/setup.ts';
import { equalBytes } from '../../session/text/bytes.ts';
import { callsTeddy, examineHooks } from './check.ts';
import { installHooks, uninstallHooks } from './install.ts';
import { beforePath, isSwitchedOff, listHooks, renderHook, type HookedProject } from './list.ts';

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
      for (const { path, state, before: kept } of (await listHooks(project, source)).hooks) {
        if (state === 'edited' || state === 'called')
          notes.push(`${path} stays: remove teddy's lines from it by hand.`);
        if (state !== 'installed' && state !== 'outdated') continue;
        changes.push({ path, before: await toBytes(path), after: kept === null ? null : await toBytes(kept) });
      }
      const carryOut = async () => void (await uninstallHooks(project, source, { shared: false }));
      const step = { does: "Remove teddy's git hooks, and restore those before them", changes, carryOut };
      return changes.length === 0 ? notes : [...notes, step];
    },
  };
}
