/** Results of tools may be large: the oldest ones are left out where the request would not fit the budget. */
import type { ModelMessage } from '../../ports/model.ts';
import { estimateTokens } from '../../session/tokens.ts';

export interface FittedResults {
  messages: ModelMessage[];
  /** How many results are left out. */
  leftOut: number;
}

const note = '[left out to fit the budget; call again, for less of it, if it is still needed]';

/** `room`: tokens, estimated. The oldest results go first, and each is named where it was; calls and texts stay. */
export function fitResults(messages: readonly ModelMessage[], room: number): FittedResults {
  let tokens = messages.reduce((sum, message) => sum + countTokens(message), 0);
  let leftOut = 0;
  const fitted = messages.map((message) => {
    const saved = message.role === 'tool' ? countTokens(message) - countTokens({ ...message, content: note }) : 0;
    if (tokens <= room || saved <= 0) return message;
    tokens -= saved;
    leftOut += 1;
    return { ...message, content: note };
  });
  return { messages: fitted, leftOut };
}

function countTokens(message: ModelMessage): number {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  return estimateTokens([message.content, ...calls.map((call) => call.name + call.arguments)].join('\n'));
}
