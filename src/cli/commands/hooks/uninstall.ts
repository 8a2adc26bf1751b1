import { Command, Option } from 'clipanion';
import { hookSource } from '../../../app.ts';
import { exitCodes } from '../../../errors.ts';
import type { UninstalledHooks } from '../../../workflow/hooks/install.ts';
import { renderPlace, toHookJson, toPlaceJson } from '../../render/hooks.ts';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';

export class HooksUninstallCommand extends TeddyCommand {
  static override paths = [['hooks', 'uninstall']];
  static override usage = Command.Usage({
    category: 'Hooks',
    description: "Remove teddy's hooks, and put back what was there before.",
    details: `
      Somebody else's hook stays as it is. If it calls teddy, or if somebody has changed one of teddy's hooks,
      uninstall names it: its author has to remove it.

      Exit codes: 0 done, or nothing to do; 1 a file cannot be written; 3 other repositories use the same hooks,
      or you have to remove lines by hand.
    `,
    examples: [['In this repository', '$0 hooks uninstall']],
  });

  shared = Option.Boolean('--shared', false, { description: 'Go on even if other repositories use the same hooks.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { uninstallHooks } = await import('../../../workflow/hooks/install.ts');
      const done = await uninstallHooks(project, hookSource(this.context.main, this.context.env), {
        shared: this.shared,
      });
      if (this.json) this.printJson(terminal, 'hooks-uninstall', toJson(done));
      else show(terminal, done);
      if (!this.json && done.elsewhere !== null)
        terminal.say(toVisible(`teddy’s hooks are in ${done.elsewhere}, where git does not look now.`));
      return done.hooks.some(({ state }) => state === 'called' || state === 'edited') ? exitCodes.HOOK_IN_THE_WAY : 0;
    });
  }
}

function toJson({ place, hooks }: UninstalledHooks) {
  return {
    ...toPlaceJson(place),
    /** `state` is the one from before. */
    hooks: hooks.map((hook) => ({ ...toHookJson(hook), removed: hook.removed, restored: hook.restored })),
  };
}

function show(terminal: Terminal, { place, hooks }: UninstalledHooks): void {
  const done = hooks.filter(({ removed }) => removed);
  terminal.say(done.length === 0 ? `${renderPlace(place)}: teddy has no hooks there` : renderPlace(place));
  for (const { name, restored } of done)
    terminal.say(`  ${name.padEnd(18)}  removed${restored ? ', the earlier one is back' : ''}`);
  for (const { name, path, state, before } of hooks) {
    if (state === 'called')
      terminal.say(toVisible(`  ${name.padEnd(18)}  ${path} calls teddy: remove that line there`));
    if (state === 'edited')
      terminal.say(
        toVisible(
          `  ${name.padEnd(18)}  ${path} was changed since it was installed, and stays: remove teddy’s lines by hand`,
        ),
      );
    if (state === 'foreign' && before !== null)
      terminal.say(toVisible(`  ${name.padEnd(18)}  was replaced since; the earlier one is at ${before}`));
  }
}
