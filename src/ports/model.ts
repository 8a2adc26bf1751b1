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
  /** Unique within its answer; teddy makes one when the server sends none. */
  id: string;
  name: string;
  /** The model's own text, which should be JSON. */
  arguments: string;
}

export type ModelMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls?: ModelToolCall[] }
  /** The result of a call in the preceding assistant message; each call needs a result. */
  | { role: 'tool'; toolCallId: string; content: string };

export interface ModelRequest {
  messages: ModelMessage[];
  /** The tools that the model may call; when absent, teddy ignores the model's calls. */
  tools?: ModelTool[];
  /** The command with which the user retries after a failure, for the end of the hint; `teddy plan` by default. */
  again?: string;
  parameters: Record<string, number | string | boolean>;
  /** For recorded answers: the turn, and the sha256 (hex) of the user's message. */
  session: SessionId;
  turn: TurnName;
  messageSha256: string;
  signal: AbortSignal;
}

interface ModelUsage {
  type: 'usage';
  /** All input tokens, cached or not. */
  inputTokens: number;
  /** All output tokens, including reasoning. */
  outputTokens: number;
  /** The input tokens read from the endpoint's cache; absent when there were none or the endpoint does not report them. */
  cachedTokens?: number;
  reasoningTokens?: number;
  /** In US dollars, if the endpoint reports it. */
  costUsd?: number;
}

/** The ways in which an answer can end, best first. */
export const finishReasons = ['stop', 'tool_calls', 'length', 'other'] as const;

export type ModelEvent =
  | { type: 'text'; text: string }
  /** The model's thoughts before and between the texts of its answer, if the endpoint reveals them. */
  | { type: 'thought'; text: string }
  /** A whole call, after the answer's text. When the answer was cut at its limit, the last call may be cut too. */
  | ({ type: 'tool_call' } & ModelToolCall)
  | ModelUsage
  /**
   * `length`: the answer was cut at the model's limit. `tool_calls`: the answer waits for the results of its calls.
   * `other`: the answer ended for another reason, so its end may be missing; `said` gives that reason in the endpoint's
   * own words.
   */
  | { type: 'finish'; reason: (typeof finishReasons)[number]; said?: string };

export type ProviderName = PresetName | 'manual' | 'recorded';

/** Answers one request as a stream. Failures are TeddyErrors with MODEL_ codes. */
export interface Model {
  readonly provider: ProviderName;
  readonly model: string;
  /** Names the model for the user before teddy sends the request, such as `gpt-5 at https://api.openai.com/v1`. */
  readonly label: string;
  answer(request: ModelRequest): AsyncIterable<ModelEvent>;
}
