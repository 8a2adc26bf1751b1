/** Opens the reader of an agent's log. */
import type { AgentLogOptions, AgentLogReader } from '../conversation/logs/agent-log.ts';
import { openAgentReader } from '../conversation/logs/agent-reader.ts';
import { agents, type AgentName } from './agents.ts';

/** The reader can be opened as often as it is needed, also where nothing may wait. */
export async function loadAgentLog(name: AgentName): Promise<(options: AgentLogOptions) => AgentLogReader> {
  const format = await agents[name].log();
  return (options) => openAgentReader(name, options, format);
}
