/** Converts a request's messages from the port's form to each provider's form. */
import type { ModelMessage } from '../../ports/model.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { isBlank } from '../records/blank.ts';
import { addBlocks, withoutTrailingSpace, type AnthropicBlock, type AnthropicMessage } from './render-anthropic.ts';
import type { OpenaiMessage } from './render-openai.ts';

export function toModelMessages(messages: readonly OpenaiMessage[]): ModelMessage[] {
  return messages.map((message): ModelMessage => {
    if (message.role === 'tool') return { role: 'tool', toolCallId: message.tool_call_id, content: message.content };
    if (message.role !== 'assistant') return { role: message.role, content: message.content };
    const toolCalls = (message.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    }));
    return {
      role: 'assistant',
      content: message.content ?? '',
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    };
  });
}

/** Returns the system messages separately, and moves call results into the user's next message. */
export function toAnthropicMessages(messages: readonly ModelMessage[]): {
  system: string;
  messages: AnthropicMessage[];
} {
  const rendered: AnthropicMessage[] = [];
  for (const message of messages) {
    if (message.role !== 'system')
      addBlocks(rendered, message.role === 'assistant' ? 'assistant' : 'user', toBlocks(message));
  }
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  return { system: system.join('\n\n'), messages: withoutTrailingSpace(rendered) };
}

function toBlocks(message: ModelMessage): AnthropicBlock[] {
  const { content } = message;
  if (message.role === 'tool') return [{ type: 'tool_result', tool_use_id: message.toolCallId, content }];
  const text: AnthropicBlock[] = isBlank(content) ? [] : [{ type: 'text', text: content }];
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  return [
    ...text,
    ...calls.map(({ id, name, arguments: written }): AnthropicBlock => {
      return { type: 'tool_use', id, name, input: parseObject(written) ?? { input: written } };
    }),
  ];
}
