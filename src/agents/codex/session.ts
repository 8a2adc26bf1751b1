/** Writes a rollout that Codex resumes as if it were its own. */
import type { History } from '../../conversation/history/history.ts';
import { toTimestamp } from '../../conversation/records/import-values.ts';
import { toProviderName } from '../../conversation/history/provider-parts.ts';
import { renderResult } from '../../conversation/history/render-openai.ts';
import { toWellFormedJson } from '../../conversation/records/well-formed.ts';
import type { AgentSession } from '../agent.ts';
import { toSessionItems, type SessionItem } from '../session-items.ts';
import { ownEntrypoint } from '../../conversation/logs/agent-records.ts';

/** The version whose format teddy writes. */
const codexVersion = '0.169.0';

/** Writes each text twice: as an item in the model's request, and as an event for the screen. */
export function renderCodexSession(history: History, { id, cwd, startedAt, provider }: AgentSession): string[] {
  const program = { originator: ownEntrypoint, cli_version: codexVersion, source: 'cli', model_provider: provider };
  const meta = { id, timestamp: startedAt, cwd, ...program };
  const lines: object[] = [{ timestamp: startedAt, type: 'session_meta', payload: meta }];
  for (const item of toSessionItems(history)) {
    const timestamp = toTimestamp(item.timestamp) ?? startedAt;
    lines.push({ timestamp, type: 'response_item', payload: toCodexItem(item) });
    const event = toCodexEvent(item);
    if (event !== null) lines.push({ timestamp, type: 'event_msg', payload: event });
  }
  return lines.map(toWellFormedJson);
}

function toCodexItem(item: SessionItem): object {
  switch (item.kind) {
    case 'said':
      return { type: 'message', role: 'user', content: [{ type: 'input_text', text: item.text }] };
    case 'answer':
      return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: item.text }] };
    case 'call': {
      const call = { name: toProviderName(item.call.name), arguments: toWellFormedJson(item.call.input) };
      return { type: 'function_call', ...call, call_id: item.callId };
    }
    case 'result':
      return { type: 'function_call_output', call_id: item.callId, output: renderResult(item.call.result) };
  }
}

function toCodexEvent(item: SessionItem): object | null {
  if (item.kind === 'said') return { type: 'user_message', message: item.text };
  return item.kind === 'answer' ? { type: 'agent_message', message: item.text } : null;
}
