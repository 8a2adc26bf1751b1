/** Chooses the reader of an agent's log. */
import type { AgentLogOptions, AgentLogReader, AgentName } from './agent-log.ts';
import { openAgentReader, type OpenAgentLines } from './agent-reader.ts';
import { openClaudeLines } from './claude-log.ts';
import { openCodexLines } from './codex-log.ts';

const openers: Partial<Record<AgentName, OpenAgentLines>> = {
  'claude-code': openClaudeLines,
  codex: openCodexLines,
};

export function openAgentLog(agent: AgentName, options: AgentLogOptions): AgentLogReader {
  const open = openers[agent];
  if (open === undefined) throw new Error(`There is no reader of the logs of ${agent}.`);
  return openAgentReader(agent, options, open);
}
