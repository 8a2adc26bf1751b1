import { openAgentSetup } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { option, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { showOutcome, toExitCode, toOutcomeJson } from './install.ts';

export class CaptureUninstallCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Capture',
    description: 'Stop capturing in this repository, or remove the hooks of agents.',
    details: `
      Without options, it stops capturing in this repository. Hooks in your configuration stay, since other repositories
      may use them; they no longer do anything here. Captured sessions stay too, and hook calls that teddy has not read
      yet are kept for the next installation.

      With --agent, it removes that agent's hooks from your configuration, for all repositories, and does not
      change this repository. With --all, it does both, for every agent. A file that nobody has changed since is
      restored byte for byte; from any other file, only teddy's hooks are removed.

      Exit codes: 0 done, or nothing to do; 1 a file cannot be written, or not a repository; 2 no such agent; 3 an
      agent's file is in the way, and the others are done.
    `,
    examples: [
      ['Stop in this repository', '$0 capture uninstall'],
      ["Also remove all agents' hooks", '$0 capture uninstall --all'],
    ],
  });

  agents = option('--agent', {
    value: '<name>',
    many: true,
    describe: "Remove this agent's hooks; can be repeated.",
  });
  all = option('--all', { describe: "Stop here, and remove all agents' hooks." });

  protected run(terminal: Terminal): Promise<number> {
    if (this.all && this.agents.length > 0)
      throw new TeddyError('USAGE', '--all cannot be combined with --agent.', 'Omit one of them.');
    return this.withProjectIfAny(terminal, async (project) => {
      const { chooseAgents, stopCapture, uninstallHooksOf } = await import('../../../workflow/capture/install.ts');
      const isUser = this.all || this.agents.length > 0;
      if (project === null && !isUser)
        throw new TeddyError(
          'NOT_A_REPOSITORY',
          'There is no repository here, so nothing is captured.',
          "To remove all agents' hooks: `teddy capture uninstall --all`.",
        );
      const setup = await openAgentSetup(this.context.main, this.context.env);
      const stopped = this.agents.length > 0 || project === null ? null : await stopCapture(project);
      const chosen = this.all ? await setup.list() : isUser ? await chooseAgents(setup, this.agents) : [];
      const outcomes = isUser ? await uninstallHooksOf(setup, chosen) : [];
      const left = (await setup.list()).filter(({ hooks }) => hooks === 'installed' || hooks === 'changed');
      if (this.json)
        this.printJson(terminal, 'capture-uninstall', {
          stopped: stopped?.was ?? false,
          kept: stopped?.kept ?? null,
          agents: outcomes.map(toOutcomeJson),
          hooksLeft: left.map(({ name }) => name),
        });
      else {
        if (stopped !== null) showStopped(terminal, stopped);
        // With --all, omits agents without hooks, because most have none.
        for (const one of outcomes) if (!this.all || one.outcome !== 'missing') showOutcome(terminal, one);
        if (!isUser && left.length > 0)
          terminal.say(
            `The hooks for ${left.map(({ title }) => title).join(', ')} stay for other repositories; \`teddy capture uninstall --all\` removes them.`,
          );
      }
      return toExitCode(outcomes);
    });
  }
}

function showStopped(terminal: Terminal, { was, kept }: { was: boolean; kept: string | null }): void {
  terminal.say(was ? 'This repository is no longer captured.' : 'This repository was not captured.');
  if (kept !== null)
    terminal.say(toVisible(`Hook calls that teddy has not read yet are kept in ${kept} for the next installation.`));
}
