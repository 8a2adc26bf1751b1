import { Command, Option } from 'clipanion';
import { hookSource } from '../../../app.ts';
import { exitCodes } from '../../../errors.ts';
import type { InstalledHooks } from '../../../workflow/hooks/install.ts';
import { renderHook, renderPlace, toHookJson, toPlaceJson } from '../../render/hooks.ts';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';

export class HooksInstallCommand extends TeddyCommand {
  static override paths = [['hooks', 'install']];
  static override usage = Command.Usage({
    category: 'Hooks',
    description: "Make git run teddy's hooks in this repository.",
    details: `
      prepare-commit-msg and commit-msg name session and turn in your own commits on a line; post-rewrite warns
      if \`git commit --amend\` has replaced an entry; pre-push verifies the branches of sessions that are pushed;
      post-checkout says where in a session you are. They do nothing elsewhere, and nothing if teddy cannot be
      found.

      An existing hook is kept as \`<name>.before-teddy\` and runs first, with the same arguments and input; what
      it refuses stays refused. If somebody has changed one of teddy's hooks, install does not overwrite it and
      says what to do. If core.hooksPath leads into the work tree, as with husky, the files are the project's:
      install prints what to add to them.

      Exit codes: 0 installed, or installed before; 1 a file cannot be written; 3 a hook is in the way, other
      repositories use the same hooks, or you have to add lines by hand.
    `,
    examples: [
      ['In this repository', '$0 hooks install'],
      ['Where the user’s hooks for all repositories are', '$0 hooks install --shared'],
    ],
  });

  shared = Option.Boolean('--shared', false, { description: 'Go on even if other repositories use the same hooks.' });

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
  terminal.say(
    'The hooks of this repository are files of the project; teddy does not write to them. Add a line to each:',
  );
  for (const { path, line } of byHand) terminal.say(toVisible(`\n${path}\n    ${line}`));
  terminal.say('\nIf a file does not exist yet, create it with `#!/bin/sh` and that line, and make it executable.');
}
