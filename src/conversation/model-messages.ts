/** The messages of a request as the port has them, and as chat completions have them. */
import type { ModelMessage } from '../ports/model.ts';
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

export function toOpenaiMessages(messages: readonly ModelMessage[]): OpenaiMessage[] {
  return messages.map((message): OpenaiMessage => {
    if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
    if (message.role !== 'assistant') return { role: message.role, content: message.content };
    const { content, toolCalls } = message;
    if (toolCalls === undefined) return { role: 'assistant', content };
    return {
      role: 'assistant',
      content: content === '' ? null : content,
      tool_calls: toolCalls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
      })),
    };
  });
}
