/** A request's messages in OpenAI's form, for the checks of that form. */
import type { OpenaiMessage } from '../../src/conversation/history/render-openai.ts';
import type { ModelMessage } from '../../src/ports/model.ts';

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
