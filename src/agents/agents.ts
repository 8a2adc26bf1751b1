/** The agents that teddy captures. To add one, add its folder and its row here. */
import type { Agent } from './agent.ts';
import { antigravity } from './antigravity/antigravity.ts';
import { claudeCode } from './claude-code/claude-code.ts';
import { codex } from './codex/codex.ts';
import { copilot } from './copilot/copilot.ts';
import { gemini } from './gemini/gemini.ts';
import { opencode } from './opencode/opencode.ts';
import { pi } from './pi/pi.ts';
import { qwen } from './qwen/qwen.ts';

/** Keyed by the names in hook commands, trailers and settings, which never change. */
const table = { 'claude-code': claudeCode, codex, gemini, opencode, copilot, qwen, pi, antigravity } satisfies Record<
  string,
  Agent
>;

export type AgentName = keyof typeof table;
export const agents: Readonly<Record<AgentName, Agent>> = table;
export const agentNames = Object.keys(table) as AgentName[];

/** The agents in which teddy can continue a session. */
export const openableAgents = agentNames.filter((name) => agents[name].openWith !== undefined);

/** Returns null for a text that is not an agent's name. */
export function findAgentName(text: unknown): AgentName | null {
  return agentNames.find((name) => name === text) ?? null;
}

/** Returns the agent with this name; null for another program, or for an agent from another version of teddy. */
export function findAgent(name: string): Agent | null {
  return Object.hasOwn(table, name) ? agents[name as AgentName] : null;
}
