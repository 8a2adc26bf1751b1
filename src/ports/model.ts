/** The workflows' view of a model. Types only: `model/` implements them. */
import type { SessionId, TurnName } from '../names.ts';
import type { PresetName } from '../session/settings/presets.ts';

/** A function that the model may call. */
export interface ModelTool {
  name: string;
  description: string;
  /** A JSON Schema of an object. */
  parameters: Record<string, unknown>;
}

export interface ModelToolCall {
  /** Unique in its answer; ours, where the server gives none. */
  id: string;
  name: string;
  /** The model's own text: JSON, if it wrote it well. */
  arguments: string;
}

export type ModelMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls?: ModelToolCall[] }
  /** The result of a call of the assistant's message before it; each call needs one. */
  | { role: 'tool'; toolCallId: string; content: string };

export interface ModelRequest {
  messages: ModelMessage[];
  /** The tools that the model may call; without any, its calls are ignored. */
  tools?: ModelTool[];
  /** How a person asks again after a failure, as the end of its hint; `session plan` if not given. */
  again?: string;
  parameters: Record<string, number | string | boolean>;
  /** For recorded answers: which turn is asked, and the sha256 (hex) of the user's message. */
  session: SessionId;
  turn: TurnName;
  messageSha256: string;
  signal: AbortSignal;
}

interface ModelUsage {
  type: 'usage';
  /** All of them, cached or not. */
  inputTokens: number;
  /** All of them, reasoning included. */
  outputTokens: number;
  /** How many of the input were read from the endpoint's cache; missing: none, or nobody has said. */
  cachedTokens?: number;
  reasoningTokens?: number;
  /** In US dollars, where the endpoint reports it. */
  costUsd?: number;
}

/** The ways in which an answer ends, from the best to the worst. */
export const finishReasons = ['stop', 'tool_calls', 'length', 'other'] as const;

export type ModelEvent =
  | { type: 'text'; text: string }
  /** The model's thoughts before and between the texts of its answer, as far as the endpoint shows them. */
  | { type: 'thought'; text: string }
  /** Whole, after the text of the answer. Of an answer that was cut at its limit the last one may be cut as well. */
  | ({ type: 'tool_call' } & ModelToolCall)
  | ModelUsage
  /**
   * `length`: the answer was cut at the model's limit. `tool_calls`: it waits for the results of its calls. `other`: something
   * else has ended it, so that it may lack its end; `said` is the endpoint's own word for that.
   */
  | { type: 'finish'; reason: (typeof finishReasons)[number]; said?: string };

export type ProviderName = PresetName | 'manual' | 'recorded';

/** Answers one request as a stream. Failures are TeddyErrors of the MODEL_ codes. */
export interface Model {
  readonly provider: ProviderName;
  readonly model: string;
  /** Names the model to a person before the request leaves: `gpt-5 at https://api.openai.com/v1`. */
  readonly label: string;
  answer(request: ModelRequest): AsyncIterable<ModelEvent>;
}
