/** Writes a session that Gemini CLI resumes as if it were its own. */
import type { History, HistoryCall } from '../../conversation/history/history.ts';
import { toOutputText, toProviderName } from '../../conversation/history/provider-parts.ts';
import { toTimestamp } from '../../conversation/records/import-values.ts';
import { toWellFormedJson, toWellFormedValue } from '../../conversation/records/well-formed.ts';
import type { Hash } from '../../ports/project.ts';
import type { AgentSession } from '../agent.ts';
import { toSessionMessages, type SessionItem } from '../session-items.ts';

export function renderGeminiSession(history: History, { id, cwd, startedAt }: AgentSession, hash: Hash): string[] {
  // Gemini CLI deletes sessions that were last updated long ago.
  const head = { sessionId: id, projectHash: hash(cwd), startTime: startedAt, lastUpdated: startedAt, kind: 'main' };
  const messages = toSessionMessages(history).map((group) => {
    const timestamp = toTimestamp(group[0]?.timestamp) ?? startedAt;
    return { id: group[0]?.id ?? '', timestamp, ...toMessage(group) };
  });
  return [head, ...messages].map(toWellFormedJson);
}

const tokens = { input: 0, output: 0, cached: 0, thoughts: 0, tool: 0, total: 0 };

function toMessage(items: readonly SessionItem[]): object {
  const [first] = items;
  if (first?.kind === 'said') return { type: 'user', content: [{ text: first.text }] };
  const content = items.flatMap((item) => (item.kind === 'answer' ? [item.text] : [])).join('\n\n');
  const toolCalls = items.flatMap((item) => (item.kind === 'call' ? [toToolCall(item)] : []));
  const calls = toolCalls.length === 0 ? {} : { toolCalls };
  return { type: 'gemini', content, thoughts: [], tokens, model: 'unknown', ...calls };
}

function toToolCall({ call, callId, timestamp }: { call: HistoryCall; callId: string; timestamp: string }): object {
  const name = toProviderName(call.name);
  const text = toOutputText(call.result);
  const { isError } = call.result;
  const response = isError ? { error: text } : { output: text };
  const result = [{ functionResponse: { id: callId, name, response } }];
  const args = toWellFormedValue(call.input);
  return { id: callId, name, args, result, status: isError ? 'error' : 'success', timestamp };
}
