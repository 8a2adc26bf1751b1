/** Turns capture on in this repository, and puts our hooks into the user's configuration of the agents; and takes both away. */
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
  /** Why it has failed; the others were done all the same. */
  error: TeddyError | null;
}

/** The agents that are named, or else those that are found. Throws UNKNOWN_AGENT. */
export async function chooseAgents(setup: AgentSetup, names: readonly string[]): Promise<AgentState[]> {
  const agents = await setup.list();
  const known = agents.map(({ name }) => name).join(', ');
  for (const name of names)
    if (!agents.some((agent) => agent.name === name))
      throw new TeddyError('UNKNOWN_AGENT', `teddy captures no agent ${JSON.stringify(name)}.`, `It can be ${known}.`);
  const chosen = agents.filter(({ name, found }) => (names.length === 0 ? found : names.includes(name)));
  if (chosen.length === 0)
    throw new TeddyError(
      'UNKNOWN_AGENT',
      'None of the agents that teddy captures is on this machine.',
      `Name one to install its hooks all the same: \`teddy capture install --agent claude-code\`. It can be ${known}.`,
    );
  return chosen;
}

/** An agent whose file cannot be changed keeps none of the others from it. */
export async function installCapture(
  { repository, spool }: CapturedProject,
  setup: AgentSetup,
  agents: readonly AgentState[],
  /** Whether plans wait for a verdict, where an agent's can; undefined: as it is. */
  gate?: boolean,
): Promise<AgentOutcome[]> {
  if (gate === true && !agents.some(({ canGate }) => canGate))
    throw new TeddyError(
      'UNKNOWN_AGENT',
      `${agents.map(({ title }) => title).join(', ')}: no hook there lets a plan wait.`,
      'Only Claude Code has a gate for plans: `teddy capture install --gate --agent claude-code`.',
    );
  await setup.installScript();
  const outcomes = await forEach(agents, async (name) =>
    (await setup.install(name, gate)) ? 'installed' : 'unchanged',
  );
  await spool.open();
  await repository.changeSetting('local', 'teddy.capture', 'true');
  return outcomes;
}

/** `kept`: where the bells are that nobody has dealt with; they come back with the next installation. */
export async function stopCapture({
  repository,
  spool,
}: CapturedProject): Promise<{ was: boolean; kept: string | null }> {
  const { exists } = await spool.look();
  const kept = await spool.close();
  const wasSet = await repository.changeSetting('local', 'teddy.capture', null);
  return { was: exists || wasSet, kept };
}

/** The script goes with the last hooks that run it. */
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
