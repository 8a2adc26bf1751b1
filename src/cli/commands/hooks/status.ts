import { Command } from 'clipanion';
import { hookSource } from '../../../app.ts';
import type { HookTarget } from '../../../ports/git.ts';
import type { ListedHook } from '../../../workflow/hooks/list.ts';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';

export class HooksStatusCommand extends TeddyCommand {
  static override paths = [['hooks', 'status']];
  static override usage = Command.Usage({
    category: 'Hooks',
    description: "Say which of teddy's hooks git runs in this repository.",
    details: `
      Each hook is \`installed\`; \`outdated\`: of another version, or not executable; \`edited\`: teddy's, but
      somebody has changed it, so teddy neither replaces nor removes it; \`called\`: by somebody else's hook;
      \`foreign\`: the hook that is there does not call teddy; or \`missing\`. A hook that was there before teddy's
      is kept beside it as \`<name>.before-teddy\`, and runs first.

      Exit codes: 0 done, whatever the hooks are; 1 not a repository.
    `,
    examples: [['Where they are, and which', '$0 hooks status']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { listHooks } = await import('../../../workflow/hooks/list.ts');
      const { place, hooks } = await listHooks(project, hookSource(this.context.main));
      if (this.json) this.printJson(terminal, 'hooks-status', { ...toPlaceJson(place), hooks: hooks.map(toHookJson) });
      else terminal.print(`${renderPlace(place)}\n${hooks.map((hook) => `${renderHook(hook)}\n`).join('')}`);
      return 0;
    });
  }
}

export function toPlaceJson({ dir, kind, origin }: HookTarget) {
  return { directory: dir, kind, hooksPath: origin };
}

export function toHookJson({ name, path, state, before, program }: ListedHook) {
  return { name, path, state, before, program };
}

const kinds = { own: '', shared: ', shared with other repositories', 'work-tree': ', in the work tree' };

export function renderPlace({ dir, kind, origin }: HookTarget): string {
  const set = origin === null ? '' : `, by core.hooksPath (${origin})`;
  return toVisible(`Hooks in ${dir}${set}${kinds[kind]}`);
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
