/** Renders a history as messages of OpenAI's chat completions API and compatible ones. */
import type { History, HistoryCall, HistoryResult, HistoryStep } from './history.ts';
import { toAnswerText, toOutputText, toProviderIds, toProviderName, toSaidText } from './provider-parts.ts';
import { toWellFormedJson } from '../records/well-formed.ts';

export interface OpenaiToolCall {
  id: string;
  type: 'function';
  function: {
    name: string;
    /** A JSON object, as text. */
    arguments: string;
  };
}

/** The first message of a request may be a system message; a history has none. */
export type OpenaiMessage =
  | { role: 'system' | 'user'; content: string }
  /** `content` is null only when there are calls. */
  | { role: 'assistant'; content: string | null; tool_calls?: OpenaiToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string };

/** Equal histories produce equal bytes; a longer history begins with the same bytes, up to any late result. */
export function renderOpenai(history: History): OpenaiMessage[] {
  const ids = toProviderIds(history);
  return history.turns.flatMap((turn) => [
    { role: 'user', content: toSaidText(turn) },
    ...turn.steps.flatMap((step) => renderStep(step, ids)),
  ]);
}

function renderStep({ texts, calls }: HistoryStep, ids: Map<string, string>): OpenaiMessage[] {
  const content = texts.length === 0 ? null : toAnswerText(texts);
  if (calls.length === 0) return [{ role: 'assistant', content }];
  return [
    { role: 'assistant', content, tool_calls: calls.map((call) => renderCall(call, ids)) },
    ...calls.map(({ callId, result }): OpenaiMessage => {
      return { role: 'tool', tool_call_id: ids.get(callId) ?? callId, content: renderResult(result) };
    }),
  ];
}

function renderCall({ callId, name, input }: HistoryCall, ids: Map<string, string>): OpenaiToolCall {
  return {
    id: ids.get(callId) ?? callId,
    type: 'function',
    function: { name: toProviderName(name), arguments: toWellFormedJson(input) },
  };
}

/** States in the text that a tool has failed, because these messages have no other place for that. */
export function renderResult(result: HistoryResult): string {
  const text = toOutputText(result);
  return result.isError && !/^error\b/i.test(text) ? `Error: ${text}` : text;
}
