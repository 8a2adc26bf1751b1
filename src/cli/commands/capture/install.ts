import { openAgentSetup } from '../../../app.ts';
import { exitCodes, TeddyError } from '../../../errors.ts';
import { errorDocument } from '../../render/error.ts';
import type { AgentState } from '../../../ports/agent-setup.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { AgentOutcome } from '../../../workflow/capture/install.ts';
import { option, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class CaptureInstallCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Capture',
    description: 'Capture what Claude Code, Codex, opencode and others do in this repository.',
    details: `
      Marks this repository as captured, and adds hooks to your own configuration for each agent that it finds. A hook
      does nothing in a repository that is not captured. The rest of these files does not change, and \`teddy capture
      uninstall\` removes the hooks again.

      What is captured does not leave this machine unless you push it. Codex asks you once whether it may run the
      hooks: answer \`/hooks\` there.

      With --gate, Claude Code, Codex, Copilot CLI and Qwen Code hand each plan of their plan mode to teddy and wait.
      The plan becomes an entry of its session, and a page opens to read it, comment on its lines, and approve or
      reject it; \`teddy approve\` and \`reject\` in another terminal work too, and so does a pull that brings
      somebody's verdict. If there is no verdict within an hour, or anything fails, the agent asks you itself. With
      \`git config teddy.gate terminal\`, no page opens.

      At a terminal, it asks first. Without one, it prints what it would do, and does it only with --yes.

      Exit codes: 0 installed, now or before; 1 a file cannot be written; 2 no such agent, or none was found; 3 an
      agent's file is in the way, and the others are done; 4 you said no, or nobody could be asked.
    `,
    examples: [
      ['For the agents on this machine', '$0 capture install'],
      ['And make plans wait for a verdict', '$0 capture install --gate'],
      ['For one of them, without being asked', '$0 capture install --agent codex --yes'],
    ],
  });

  agents = option('--agent', {
    value: '<name>',
    many: true,
    describe: 'Install for this agent only; can be repeated.',
  });
  gate = option('--gate', {
    mayBeUnset: true,
    describe: 'Make agents wait with a plan for your verdict; --no-gate lets plans pass again.',
  });
  yes = option('-y,--yes', { describe: 'Install without asking.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { chooseAgents, installCapture, titlesOf } = await import('../../../workflow/capture/install.ts');
      const setup = await openAgentSetup(this.context.main, this.context.env);
      const agents = await chooseAgents(setup, this.agents);
      if (!this.yes) {
        const { confirm } = project.notices;
        const gated = titlesOf(agents.filter(({ canGate }) => this.gate === true && canGate));
        for (const line of describePlan(agents, gated)) terminal.say(line);
        if (confirm === undefined) throw this.toUnasked();
        if (!(await confirm('Capture them in this repository?')))
          throw new TeddyError(
            'NOT_APPROVED',
            'Nothing was installed.',
            'To install it later: `teddy capture install`.',
          );
      }
      const outcomes = await installCapture(project, setup, agents, this.gate);
      const states = await setup.list();
      const isUntrusted = states.some(({ hooks, trusted }) => hooks === 'installed' && trusted === false);
      if (this.json) this.printJson(terminal, 'capture-install', { agents: outcomes.map(toOutcomeJson), isUntrusted });
      else {
        for (const outcome of outcomes) showOutcome(terminal, outcome);
        terminal.say('This repository is captured. `teddy capture status` shows whether it works.');
        const gated = states.filter(({ hooks, gate }) => hooks === 'installed' && gate);
        if (gated.length > 0)
          terminal.say(
            `Plans of ${titlesOf(gated)} now wait for a verdict here: on the page that opens, or with \`teddy approve\` or \`reject\`.`,
          );
        if (isUntrusted)
          terminal.say('Codex runs the hooks only after you trust them: start Codex, and answer `/hooks` once.');
      }
      return toExitCode(outcomes);
    });
  }

  private toUnasked(): TeddyError {
    const gate = this.gate === undefined ? [] : [this.gate ? '--gate' : '--no-gate'];
    const words = ['capture', 'install', ...gate, ...this.agents.flatMap((name) => ['--agent', name]), '--yes'];
    return new TeddyError(
      'NOT_APPROVED',
      'Nothing was installed: there is no terminal in which to ask you.',
      `To install it: \`teddy ${words.map(toShellWord).join(' ')}\`.`,
    );
  }
}

function describePlan(agents: readonly AgentState[], gated: string): string[] {
  return [
    "teddy will capture these agents' sessions in this repository, and add hooks to your configuration for each agent:",
    ...agents.map(({ title, path, hooks }) =>
      toVisible(`  ${title.padEnd(12)}  ${path}${hooks === 'installed' ? ' (has them)' : ''}`),
    ),
    ...(gated === '' ? [] : [`Plans of ${gated} will wait until somebody approves or rejects them.`]),
    'The hooks do nothing in other repositories. Captured sessions stay on this machine until you push them.',
  ];
}

const outcomeTexts: Record<AgentOutcome['outcome'], string> = {
  installed: 'hooks installed',
  unchanged: 'hooks already installed',
  restored: 'hooks removed, original file restored',
  removed: 'hooks removed, other changes kept',
  missing: 'no hooks',
  failed: 'not changed',
};

export function showOutcome(terminal: Terminal, { title, path, outcome, error }: AgentOutcome): void {
  terminal.say(toVisible(`  ${title.padEnd(12)}  ${outcomeTexts[outcome]} (${path})`));
  if (error !== null)
    terminal.say(toVisible(`    ${error.message}${error.hint === undefined ? '' : ` ${error.hint}`}`));
}

export function toOutcomeJson({ name, path, outcome, error }: AgentOutcome) {
  return { name, path, outcome, error: error && errorDocument(error) };
}

/** Returns the exit code of the first failure, or 0. */
export function toExitCode(outcomes: readonly AgentOutcome[]): number {
  const failed = outcomes.find(({ error }) => error !== null);
  return failed?.error == null ? 0 : exitCodes[failed.error.code];
}
