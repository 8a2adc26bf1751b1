/** Renders a history as messages of Anthropic's API: content blocks, with call results in the user's next message. */
import { isBlank } from '../records/blank.ts';
import type { History, HistoryCall, HistoryStep } from './history.ts';
import { toAnswerText, toOutputText, toProviderIds, toProviderName, toSaidText } from './provider-parts.ts';
import { toWellFormedValue } from '../records/well-formed.ts';

export type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'tool_result'; tool_use_id: string; content: string; is_error?: true };

export interface AnthropicMessage {
  role: 'user' | 'assistant';
  content: AnthropicBlock[];
}

/** Equal histories produce equal bytes; a longer history begins with the same bytes, up to any late result. */
export function renderAnthropic(history: History): AnthropicMessage[] {
  const ids = toProviderIds(history);
  const messages: AnthropicMessage[] = [];
  for (const turn of history.turns) {
    addBlocks(messages, 'user', [{ type: 'text', text: toSaidText(turn) }]);
    for (const step of turn.steps) {
      addBlocks(messages, 'assistant', renderAnswer(step, ids));
      if (step.calls.length > 0)
        addBlocks(
          messages,
          'user',
          step.calls.map((call) => renderResult(call, ids)),
        );
    }
  }
  return withoutTrailingSpace(messages);
}

/** Appends the user's words to the message that contains the call results. */
export function addBlocks(
  messages: AnthropicMessage[],
  role: AnthropicMessage['role'],
  blocks: AnthropicBlock[],
): void {
  const last = messages.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else messages.push({ role, content: blocks });
}

function renderAnswer({ texts, calls }: HistoryStep, ids: Map<string, string>): AnthropicBlock[] {
  const text: AnthropicBlock[] = texts.length === 0 ? [] : [{ type: 'text', text: toAnswerText(texts) }];
  return [
    ...text,
    ...calls.map(({ callId, name, input }): AnthropicBlock => {
      const id = ids.get(callId) ?? callId;
      return { type: 'tool_use', id, name: toProviderName(name), input: toWellFormedValue(input) };
    }),
  ];
}

function renderResult({ callId, result }: HistoryCall, ids: Map<string, string>): AnthropicBlock {
  const block = { type: 'tool_result', tool_use_id: ids.get(callId) ?? callId, content: toOutputText(result) } as const;
  return result.isError ? { ...block, is_error: true } : block;
}

/** A final assistant message is the beginning of the model's next message and must not end in white space. */
export function withoutTrailingSpace(messages: AnthropicMessage[]): AnthropicMessage[] {
  const block = messages.at(-1)?.role === 'assistant' ? messages.at(-1)?.content.at(-1) : undefined;
  if (block?.type !== 'text') return messages;
  while (isBlank(block.text.slice(-1))) block.text = block.text.slice(0, -1);
  return messages;
}
