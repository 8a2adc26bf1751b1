/** Chooses the reader of an agent's log. */
import type { AgentLogOptions, AgentLogReader, AgentName } from './agent-log.ts';
import { openAgentReader, type OpenAgentLines } from './agent-reader.ts';
import { openClaudeLines } from './claude-log.ts';
import { openCodexLines } from './codex-log.ts';
import { openCopilotLines } from './copilot-log.ts';
import { openGeminiLines } from './gemini-log.ts';
import { openOpencodeLines } from './opencode-log.ts';
import { openPiLines } from './pi-log.ts';
import { openQwenLines } from './qwen-log.ts';

const openers: Record<AgentName, OpenAgentLines> = {
  'claude-code': openClaudeLines,
  codex: openCodexLines,
  gemini: openGeminiLines,
  opencode: openOpencodeLines,
  copilot: openCopilotLines,
  qwen: openQwenLines,
  pi: openPiLines,
};

export function openAgentLog(agent: AgentName, options: AgentLogOptions): AgentLogReader {
  return openAgentReader(agent, options, openers[agent]);
}
