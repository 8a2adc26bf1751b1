import { hookSource } from '../../../app.ts';
import { exitCodes } from '../../../errors.ts';
import type { InstalledHooks, UninstalledHooks } from '../../../workflow/hooks/install.ts';
import { option, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { HookTarget } from '../../../ports/git.ts';
import { describePlace, type ListedHook } from '../../../workflow/hooks/list.ts';

export class HooksInstallCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Hooks',
    description: "Make git run teddy's hooks in this repository.",
    details: `
      prepare-commit-msg and commit-msg name the session and turn in your own commits on a session's branch;
      post-rewrite warns if \`git commit --amend\` replaced an entry; pre-push verifies the sessions' branches that
      you push; post-checkout reports where you are in a session. The hooks do nothing outside sessions, and nothing
      if teddy cannot be found.

      An existing hook is kept as \`<name>.before-teddy\` and runs first, with the same arguments and input; if it
      fails, the operation is still refused. If somebody has edited one of teddy's hooks, install does not overwrite
      it and prints what to do. If core.hooksPath points into the work tree, as with husky, the files belong to the
      project: install prints what to add to them.

      Exit codes: 0 installed, now or before; 1 a file cannot be written; 3 a hook is in the way, other repositories
      use the same hooks, or you have to add lines by hand.
    `,
    examples: [
      ['In this repository', '$0 hooks install'],
      ['In your hooks directory for all repositories', '$0 hooks install --shared'],
    ],
  });

  shared = option('--shared', { describe: 'Proceed even if other repositories use the same hooks.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { installHooks } = await import('../../../workflow/hooks/install.ts');
      const installed = await installHooks(project, hookSource(this.context.main, this.context.env), {
        shared: this.shared,
      });
      if (this.json) this.printJson(terminal, 'hooks-install', toJson(installed));
      else show(terminal, installed);
      return installed.byHand.length === 0 ? 0 : exitCodes.HOOK_IN_THE_WAY;
    });
  }
}

function toJson({ place, hooks, byHand }: InstalledHooks) {
  return {
    ...toPlaceJson(place),
    hooks: hooks.map((hook) => ({ ...toHookJson(hook), changed: hook.changed })),
    byHand,
  };
}

function show(terminal: Terminal, { place, hooks, byHand }: InstalledHooks): void {
  if (byHand.length > 0) return showByHand(terminal, byHand);
  const isDone = hooks.some(({ changed }) => changed);
  terminal.say(isDone ? renderPlace(place) : `${renderPlace(place)}: nothing to do`);
  for (const hook of hooks) terminal.say(renderHook(hook));
}

function showByHand(terminal: Terminal, byHand: InstalledHooks['byHand']): void {
  terminal.say("This repository's hooks belong to the project, so teddy does not write to them. Add a line to each:");
  for (const { path, line } of byHand) terminal.say(toVisible(`\n${path}\n    ${line}`));
  terminal.say('\nIf a file does not exist yet, create it with `#!/bin/sh` and that line, and make it executable.');
}

export class HooksUninstallCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Hooks',
    description: "Remove teddy's hooks, and restore the previous ones.",
    details: `
      teddy leaves hooks alone that are not its own. If one of them calls teddy, or if somebody has edited one of
      teddy's hooks, uninstall names it, and you have to remove the lines by hand.

      Exit codes: 0 done, or nothing to do; 1 a file cannot be written; 3 other repositories use the same hooks, or
      you have to remove lines by hand.
    `,
    examples: [['In this repository', '$0 hooks uninstall']],
  });

  shared = option('--shared', { describe: 'Proceed even if other repositories use the same hooks.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { uninstallHooks } = await import('../../../workflow/hooks/install.ts');
      const done = await uninstallHooks(project, hookSource(this.context.main, this.context.env), {
        shared: this.shared,
      });
      if (this.json) this.printJson(terminal, 'hooks-uninstall', toUninstalledJson(done));
      else showUninstalled(terminal, done);
      if (!this.json && done.elsewhere !== null)
        terminal.say(toVisible(`teddy’s hooks are in ${done.elsewhere}, where git no longer looks.`));
      return done.hooks.some(({ state }) => state === 'called' || state === 'edited') ? exitCodes.HOOK_IN_THE_WAY : 0;
    });
  }
}

function toUninstalledJson({ place, hooks }: UninstalledHooks) {
  return {
    ...toPlaceJson(place),
    /** `state` is the state before the removal. */
    hooks: hooks.map((hook) => ({ ...toHookJson(hook), removed: hook.removed, restored: hook.restored })),
  };
}

function showUninstalled(terminal: Terminal, { place, hooks }: UninstalledHooks): void {
  const done = hooks.filter(({ removed }) => removed);
  terminal.say(done.length === 0 ? `${renderPlace(place)}: teddy has no hooks there` : renderPlace(place));
  for (const { name, restored } of done)
    terminal.say(`  ${name.padEnd(18)}  removed${restored ? ', and the previous hook is restored' : ''}`);
  for (const { name, path, state, before } of hooks) {
    if (state === 'called')
      terminal.say(toVisible(`  ${name.padEnd(18)}  ${path} calls teddy: remove that line by hand`));
    if (state === 'edited')
      terminal.say(
        toVisible(
          `  ${name.padEnd(18)}  ${path} has been edited since it was installed, so teddy kept it: remove teddy’s lines by hand`,
        ),
      );
    if (state === 'foreign' && before !== null)
      terminal.say(toVisible(`  ${name.padEnd(18)}  has been replaced since; the previous hook is at ${before}`));
  }
}

/** The hooks' directory, and the setting that names it. */
function toPlaceJson({ dir, kind, origin }: HookTarget) {
  return { directory: dir, kind, hooksPath: origin };
}

function toHookJson({ name, path, state, before, program }: ListedHook) {
  return { name, path, state, before, program };
}

function renderPlace(place: HookTarget): string {
  return toVisible(describePlace(place));
}

export function renderHook({ name, path, state, before }: ListedHook): string {
  const ways = {
    outdated: ', run `teddy hooks install`',
    edited: `, ${path} has been edited since, so teddy leaves it alone`,
    foreign: `, ${path} does not call teddy`,
  };
  const way = state === 'outdated' || state === 'edited' || state === 'foreign' ? ways[state] : '';
  const runs = state === 'installed' || state === 'outdated' || state === 'edited';
  const kept = before === null ? '' : `, ${before} ${runs ? 'runs first' : 'is not run'}`;
  return toVisible(`  ${name.padEnd(18)}  ${state}${way}${kept}`);
}
