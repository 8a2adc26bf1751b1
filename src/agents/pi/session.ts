/** Writes a session that pi resumes as if it were its own. */
import type { History } from '../../conversation/history/history.ts';
import { toOutputText, toProviderName } from '../../conversation/history/provider-parts.ts';
import { toTimestamp } from '../../conversation/records/import-values.ts';
import { toWellFormedJson, toWellFormedValue } from '../../conversation/records/well-formed.ts';
import { groupBy } from '../../session/text/group-by.ts';
import type { AgentSession } from '../agent.ts';
import { toSessionItems, type SessionItem } from '../session-items.ts';

/** An answer's texts and calls are one message; each message is the child of the previous one. */
export function renderPiSession(history: History, { id, cwd, startedAt, provider }: AgentSession): string[] {
  const head = { type: 'session', version: 3, id, timestamp: startedAt, cwd };
  const messages = groupBy([...toSessionItems(history)], (item) =>
    item.kind === 'answer' || item.kind === 'call' ? `answer ${item.answer}` : item.id,
  );
  const lines = [...messages.values()].map((items, at) => {
    const timestamp = toTimestamp(items[0]?.timestamp) ?? startedAt;
    const message = { ...toMessage(items, provider), timestamp: Date.parse(timestamp) };
    return { type: 'message', id: toId(at + 1), parentId: at === 0 ? null : toId(at), timestamp, message };
  });
  return [head, ...lines].map(toWellFormedJson);
}

function toId(number: number): string {
  return number.toString(16).padStart(8, '0');
}

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };

function toMessage(items: readonly SessionItem[], provider: string): object {
  const [first] = items;
  if (first?.kind === 'said') return { role: 'user', content: [{ type: 'text', text: first.text }] };
  if (first?.kind === 'result') {
    const { name, result } = first.call;
    const about = { toolCallId: first.callId, toolName: toProviderName(name), isError: result.isError };
    return { role: 'toolResult', ...about, content: [{ type: 'text', text: toOutputText(result) }] };
  }
  const content = items.flatMap((item): object[] => {
    if (item.kind === 'answer') return [{ type: 'text', text: item.text }];
    if (item.kind !== 'call') return [];
    const { name, input } = item.call;
    return [{ type: 'toolCall', id: item.callId, name: toProviderName(name), arguments: toWellFormedValue(input) }];
  });
  const stopReason = items.some(({ kind }) => kind === 'call') ? 'toolUse' : 'stop';
  return { role: 'assistant', content, api: 'openai-completions', provider, model: 'unknown', usage, stopReason };
}
