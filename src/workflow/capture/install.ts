/** Turns on capture in this repository and adds teddy's hooks to the user's agent configurations, or removes both. */
import { TeddyError } from '../../errors.ts';
import type { AgentName } from '../../agents/agents.ts';
import type { AgentSetup, AgentState } from '../../ports/agent-setup.ts';
import type { Project } from '../../ports/project.ts';

export type CapturedProject = Pick<Project, 'repository' | 'settings' | 'spool'>;

export interface AgentOutcome {
  name: AgentName;
  title: string;
  path: string;
  outcome: 'installed' | 'unchanged' | 'restored' | 'removed' | 'missing' | 'failed';
  /** Why it failed; null otherwise. teddy still handled the other agents. */
  error: TeddyError | null;
}

export function isHooked({ hooks }: Pick<AgentState, 'hooks'>): boolean {
  return hooks === 'installed' || hooks === 'changed';
}

/** Names the agents as a person would: `Claude Code and Codex`. */
export function titlesOf(agents: readonly AgentState[]): string {
  const titles = agents.map(({ title }) => title);
  return titles.length < 2 ? titles.join('') : `${titles.slice(0, -1).join(', ')} and ${titles.at(-1)}`;
}

/** Returns the named agents, or, without names, the agents found on this machine. Throws UNKNOWN_AGENT. */
export async function chooseAgents(setup: AgentSetup, names: readonly string[]): Promise<AgentState[]> {
  const agents = await setup.list();
  const known = agents.map(({ name }) => name).join(', ');
  for (const name of names)
    if (!agents.some((agent) => agent.name === name))
      throw new TeddyError(
        'UNKNOWN_AGENT',
        `teddy cannot capture an agent called ${JSON.stringify(name)}.`,
        `Choose one of: ${known}.`,
      );
  const chosen = agents.filter(({ name, found }) => (names.length === 0 ? found : names.includes(name)));
  if (chosen.length === 0)
    throw new TeddyError(
      'UNKNOWN_AGENT',
      'None of the agents that teddy can capture is installed on this machine.',
      `To install the hooks for one anyway, name it: \`teddy capture install --agent claude-code\`. The choices are ${known}.`,
    );
  return chosen;
}

/** Installs capture. An agent with a file that teddy cannot change does not stop the others. */
export async function installCapture(
  { repository, spool }: CapturedProject,
  setup: AgentSetup,
  agents: readonly AgentState[],
  /** True to make plans wait for a verdict, for agents that support it; undefined keeps the setting. */
  gate?: boolean,
): Promise<AgentOutcome[]> {
  const gated = gate === true ? (await setup.list()).filter(({ canGate }) => canGate) : [];
  if (gate === true && !agents.some(({ canGate }) => canGate))
    throw new TeddyError(
      'UNKNOWN_AGENT',
      `No hook in ${agents.map(({ title }) => title).join(', ')} can hold a plan.`,
      `${titlesOf(gated)} have a gate for plans: \`teddy capture install --gate --agent claude-code\`.`,
    );
  if (repository.workspace === null)
    throw new TeddyError(
      'NO_WORK_TREE',
      'No agent works in a bare repository, so there is nothing to capture.',
      'Run the command in a clone of this repository.',
    );
  await setup.installScript();
  const outcomes = await forEach(agents, async (name) =>
    (await setup.install(name, gate)) ? 'installed' : 'unchanged',
  );
  await spool.open();
  await repository.changeSetting('local', 'teddy.capture', 'true');
  return outcomes;
}

/** Stops capture. `kept` is the location of the hooks' unprocessed notes, which the next installation restores. */
export async function stopCapture({
  repository,
  spool,
}: CapturedProject): Promise<{ was: boolean; kept: string | null }> {
  const { exists } = await spool.look();
  const kept = await spool.close();
  const wasSet = await repository.changeSetting('local', 'teddy.capture', null);
  return { was: exists || wasSet, kept };
}

/** Removes the hooks, and the script with the last hooks that run it. */
export async function uninstallHooksOf(setup: AgentSetup, agents: readonly AgentState[]): Promise<AgentOutcome[]> {
  const outcomes = await forEach(agents, (name) => setup.uninstall(name));
  if ((await setup.list()).every(({ hooks }) => hooks === 'missing')) await setup.removeScript();
  return outcomes;
}

async function forEach(
  agents: readonly AgentState[],
  change: (name: AgentName) => Promise<AgentOutcome['outcome']>,
): Promise<AgentOutcome[]> {
  const outcomes: AgentOutcome[] = [];
  for (const { name, title, path } of agents) {
    try {
      outcomes.push({ name, title, path, outcome: await change(name), error: null });
    } catch (error) {
      if (!(error instanceof TeddyError)) throw error;
      outcomes.push({ name, title, path, outcome: 'failed', error });
    }
  }
  return outcomes;
}
