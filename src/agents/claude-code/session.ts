/** Writes a Claude Code session that the agent resumes as if it were its own. */
import type { History, HistoryCall } from '../../conversation/history/history.ts';
import { toUuid } from '../../conversation/records/import-ids.ts';
import { toTimestamp } from '../../conversation/records/import-values.ts';
import { toOutputText, toProviderName } from '../../conversation/history/provider-parts.ts';
import { toWellFormedJson, toWellFormedValue } from '../../conversation/records/well-formed.ts';
import type { Hash } from '../../ports/project.ts';
import type { AgentSession } from '../agent.ts';
import { toSessionItems, type SessionItem } from '../session-items.ts';
import { ownEntrypoint } from '../../conversation/logs/agent-records.ts';

/** The version whose format teddy writes. */
const claudeVersion = '2.1.330';

/** Writes a line for each content block; each line is the child of the previous one. */
export function renderClaudeSession(
  history: History,
  { id: sessionId, cwd, startedAt }: AgentSession,
  hash: Hash,
): string[] {
  let parentUuid: string | null = null;
  const lines: string[] = [];
  for (const item of toSessionItems(history)) {
    const uuid = isUuid(item.id) ? item.id : toUuid(hash(item.id));
    const timestamp = toTimestamp(item.timestamp) ?? startedAt;
    const common = { isSidechain: false, userType: 'external', entrypoint: ownEntrypoint, cwd, sessionId };
    const rest = { version: claudeVersion, gitBranch: '' };
    const message = toClaudeMessage(item, hash);
    lines.push(toWellFormedJson({ parentUuid, ...common, ...rest, ...message, uuid, timestamp }));
    parentUuid = uuid;
  }
  return lines;
}

function toClaudeMessage(item: SessionItem, hash: Hash): object {
  if (item.kind === 'said') return { type: 'user', message: { role: 'user', content: item.text } };
  if (item.kind === 'result') {
    const { result } = item.call;
    const block = { type: 'tool_result', tool_use_id: item.callId, content: toOutputText(result) };
    const content = [result.isError ? { ...block, is_error: true } : block];
    return { type: 'user', message: { role: 'user', content } };
  }
  const content = [item.kind === 'answer' ? { type: 'text', text: item.text } : toClaudeCall(item.call, item.callId)];
  const isLast = item.kind === 'answer' && item.isLast;
  // The agent would return to any model that the line names, or warn about it; an older version does not read an answer
  // without a model.
  const message = {
    id: `msg_${hash(item.answer).slice(0, 24)}`,
    type: 'message',
    role: 'assistant',
    model: '<synthetic>',
  };
  const end = { stop_reason: isLast ? 'end_turn' : 'tool_use', stop_sequence: null };
  return { type: 'assistant', message: { ...message, content, ...end, usage: { input_tokens: 0, output_tokens: 0 } } };
}

function toClaudeCall({ name, input }: HistoryCall, id: string): object {
  return { type: 'tool_use', id, name: toProviderName(name), input: toWellFormedValue(input) };
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(text);
}
