/** A model that answers from a list, and remembers its requests. */
import type { Model, ModelEvent, ModelRequest, ModelToolCall } from '../../src/ports/model.ts';

export interface ScriptedAnswer {
  /** Streamed one by one. */
  texts: string[];
  usage?: Omit<Extract<ModelEvent, { type: 'usage' }>, 'type'>;
  /** Before the texts. */
  thoughts?: string[];
  /** After the texts; the answer then ends with `tool_calls`, unless another reason is given. */
  calls?: ModelToolCall[];
  finish?: 'stop' | 'length' | 'tool_calls' | 'other';
  /** The endpoint's own word for its end. */
  said?: string;
  /** Thrown after the texts, instead of a finish. */
  error?: Error;
  /** Runs after the texts: events elsewhere while the model is still answering. */
  meanwhile?: () => Promise<void>;
}

export interface ScriptedModel extends Model {
  readonly requests: ModelRequest[];
}

/** A string is a complete answer; an error is thrown before any content. */
export function scriptedModel(...script: (string | Error | ScriptedAnswer)[]): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    provider: 'recorded',
    model: 'scripted',
    label: 'the scripted model',
    requests,
    async *answer(request): AsyncIterable<ModelEvent> {
      requests.push(request);
      const next = script.shift();
      if (next === undefined) throw new Error('The test has given the model no answer more.');
      const { texts, thoughts = [], calls = [], usage, finish, said, error, meanwhile } = toAnswer(next);
      for (const text of thoughts) yield { type: 'thought', text };
      for (const text of texts) yield { type: 'text', text };
      await meanwhile?.();
      if (error) throw error;
      for (const call of calls) yield { type: 'tool_call', ...call };
      if (usage) yield { type: 'usage', ...usage };
      const reason = finish ?? (calls.length > 0 ? 'tool_calls' : 'stop');
      yield { type: 'finish', reason, ...(said === undefined ? {} : { said }) };
    },
  };
}

function toAnswer(answer: string | Error | ScriptedAnswer): ScriptedAnswer {
  if (typeof answer === 'string') return { texts: [answer] };
  return answer instanceof Error ? { texts: [], error: answer } : answer;
}
