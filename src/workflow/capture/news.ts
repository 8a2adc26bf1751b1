/** Tells a person once what has changed about the agents here: hooks that went silent, and versions that teddy has not met. */
import { agents, type AgentName } from '../../agents/agents.ts';
import type { Capture } from '../../ports/agent-logs.ts';
import type { AgentSetup } from '../../ports/agent-setup.ts';
import { listFollowedLogs, type FollowedLog } from './capture.ts';
import { describeSilent, findSilentAgents } from './status.ts';

const newsKey = 'agent-news';
/** How often teddy looks for news. */
const lookEveryMs = 60 * 60 * 1000;

/**
 * Returns sentences that nobody has been told in this repository, and notes that they are told. Looks at most once an
 * hour. Without `withSilent`, hooks that went silent stay news, for a command that shows them itself.
 */
export async function takeNews(
  project: Parameters<typeof findSilentAgents>[0],
  setup: Pick<AgentSetup, 'list'>,
  { states, logs }: Pick<Capture, 'states' | 'logs'>,
  { withSilent }: { withSilent: boolean },
): Promise<string[]> {
  const state = await states.read(newsKey);
  const now = project.clock.now().getTime();
  const age = now - Number(state?.['at'] ?? 0);
  if (age >= 0 && age < lookEveryMs) return [];
  const told: unknown[] = Array.isArray(state?.['told']) ? state['told'] : [];
  const silent = withSilent ? await findSilentAgents(project, await setup.list(), { states, logs }) : [];
  const news = [
    ...silent.map((agent) => ({
      key: `silent ${agent.title} ${agent.lastCall}`,
      sentence: `${describeSilent(agent)}: \`teddy doctor\`.`,
    })),
    ...listNewVersions(await listFollowedLogs({ states })),
  ].filter(({ key }) => !told.includes(key));
  await states.write(newsKey, { at: now, told: [...told, ...news.map(({ key }) => key)].slice(-maxTold) });
  return news.map(({ sentence }) => sentence);
}

/** The number of sentences to remember. */
const maxTold = 200;

/**
 * Lists the versions after the one that an agent was tried with. Agents release daily, so a version counts once by its
 * first two numbers, unless its log has lines that teddy cannot read.
 */
function listNewVersions(logs: readonly FollowedLog[]): { key: string; sentence: string }[] {
  const found = new Map<string, { key: string; sentence: string }>();
  for (const { agent, agentVersion, unknown } of logs) {
    const known = agents[agent].traces.version;
    if (known === null || agentVersion === null || !isNewer(agentVersion, known)) continue;
    const isStrange = unknown > 0;
    if (!isStrange && !isNewer(toMinor(agentVersion), toMinor(known))) continue;
    const key = `version ${agent} ${isStrange ? agentVersion : toMinor(agentVersion)}${isStrange ? ' strange' : ''}`;
    if (!found.has(key)) found.set(key, { key, sentence: describeVersion(agent, agentVersion, known, isStrange) });
  }
  return [...found.values()];
}

function describeVersion(agent: AgentName, version: string, known: string, isStrange: boolean): string {
  const { title } = agents[agent];
  return isStrange
    ? `${title} ${version} writes lines that teddy, tried with ${known}, cannot read. They are kept. To have this mended, report it with the output of \`teddy capture status --json\`.`
    : `${title} ${version} is newer than ${known}, the version teddy was tried with. If something is missing from its sessions, report it with the output of \`teddy capture status --json\`.`;
}

const toMinor = (version: string) => version.split('.').slice(0, 2).join('.');

/** Compares numbers, from the left; anything else counts as 0. */
function isNewer(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => text.split('.').map((part) => Number.parseInt(part, 10) || 0));
  for (const [at, number] of (one ?? []).entries()) {
    const difference = number - (other?.[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
