/** The forms of the records of agents' logs: a part of a record does not pass for a whole one, nor the record of one agent for another's. */
import type { AgentName } from './agent-log.ts';
import type { RecordForm } from './mend-line.ts';
import { asText, fieldsOf, hasText, isObject } from './import-values.ts';

type Fields = Record<string, unknown>;

const codexLines = ['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted'];
const codexItems = ['function_call', 'function_call_output', 'local_shell_call', 'custom_tool_call', 'reasoning'];

export const agentForms: Record<AgentName, RecordForm> = {
  'claude-code': (line) => isClaudeLine(line) && !isQwenLine(line),
  // The content of a record with an envelope looks like the bare item of an older version.
  codex: (line, before) => isCodexLine(line) && ('payload' in line || !before.includes('"payload"')),
  gemini: isGeminiLine,
  opencode: ({ session, info, parts }) =>
    isObject(session) || (hasText(fieldsOf(info)['role']) && Array.isArray(parts)),
  copilot: ({ type, data, id, parentId }) => hasText(type) && isObject(data) && hasText(id) && parentId !== undefined,
  qwen: (line) => isClaudeLine(line) && !('content' in fieldsOf(line['message'])),
  pi: isPiLine,
};

function isClaudeLine(line: Fields): boolean {
  const type = asText(line['type']);
  if (type === undefined) return false;
  if (type === 'summary') return 'leafUuid' in line;
  if (type === 'file-history-snapshot') return 'messageId' in line;
  if (['user', 'assistant', 'system'].includes(type))
    return 'uuid' in line && ('sessionId' in line || 'parentUuid' in line);
  return 'sessionId' in line && !('payload' in line);
}

export function isQwenLine({ message, subtype }: Fields): boolean {
  return Array.isArray(fieldsOf(message)['parts']) || subtype === 'ui_telemetry' || subtype === 'attribution_snapshot';
}

function isCodexLine(line: Fields): boolean {
  const type = asText(line['type']);
  // The first lines that older versions of Codex wrote.
  if (type === undefined)
    return line['record_type'] === 'state' || ('id' in line && 'timestamp' in line && 'instructions' in line);
  if (isObject(line['payload'])) return 'timestamp' in line;
  if (codexLines.includes(type)) return 'timestamp' in line && !('payload' in line);
  if (type === 'message') return Array.isArray(line['content']) && 'role' in line;
  return codexItems.includes(type) && ('call_id' in line || 'summary' in line || 'action' in line);
}

function isGeminiLine(line: Fields): boolean {
  const { type, id, timestamp, sessionId, projectHash, $set, $rewindTo } = line;
  if (isObject($set) || hasText($rewindTo)) return true;
  return type === undefined
    ? hasText(sessionId) && hasText(projectHash)
    : hasText(type) && hasText(id) && hasText(timestamp) && 'content' in line && !('parentId' in line);
}

function isPiLine({ type, id, parentId, timestamp, cwd, message, payload }: Fields): boolean {
  if (!hasText(type) || timestamp === undefined || payload !== undefined) return false;
  if (type === 'session') return hasText(cwd);
  return hasText(fieldsOf(message)['role']) || (hasText(id) && parentId !== undefined);
}
