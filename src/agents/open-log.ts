/** Opens the reader of an agent's log. */
import type { AgentLogOptions, AgentLogReader } from '../conversation/logs/agent-log.ts';
import { openAgentReader } from '../conversation/logs/agent-reader.ts';
import { agents, type AgentName } from './agents.ts';

/** Loads the reader once, so that callers can open it repeatedly, even where code cannot wait. */
export async function loadAgentLog(name: AgentName): Promise<(options: AgentLogOptions) => AgentLogReader> {
  const format = await agents[name].log();
  return (options) => openAgentReader(name, options, format);
}
