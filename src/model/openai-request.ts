/** A request of the port as the body of a chat completion. */
import type { OpenAI } from 'openai';
import type { ModelMessage, ModelRequest, ModelTool } from '../ports.ts';

type Body = OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming;

/** `parameters` never override what we set. A request without tools has no field that speaks of them. */
export function toBody(model: string, { messages, parameters, tools }: ModelRequest): Body {
  return {
    ...parameters,
    model,
    messages: messages.map(toMessage),
    ...(tools === undefined ? {} : { tools: tools.map(toTool) }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function toMessage(message: ModelMessage): Body['messages'][number] {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== 'assistant' || message.toolCalls === undefined) {
    return { role: message.role, content: message.content };
  }
  return {
    role: 'assistant',
    // Some servers refuse an empty text beside calls.
    content: message.content === '' ? null : message.content,
    tool_calls: message.toolCalls.map(({ id, name, arguments: text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    })),
  };
}

function toTool({ name, description, parameters }: ModelTool): NonNullable<Body['tools']>[number] {
  return { type: 'function', function: { name, description, parameters } };
}
