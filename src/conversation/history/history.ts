/** The history of a conversation in a neutral form that can be rendered for each provider. */
import type { ResultReason, RecordSource } from '../records/record.ts';

/** The whole conversation in order. It is complete and breaks none of a provider's rules. */
export interface History {
  turns: HistoryTurn[];
  /** All repairs, in the order of discovery. */
  repairs: Repair[];
}

/** The user's words, and everything up to the user's next words. */
export interface HistoryTurn {
  /** Empty only in the first turn of a history that begins with the assistant. */
  said: UserBlock[];
  steps: HistoryStep[];
}

export interface UserBlock {
  id: string;
  timestamp: string;
  text: string;
  source: RecordSource;
}

/** One assistant message and the results directly after it. Only the last step of a turn may have no calls. */
export interface HistoryStep {
  /** Never blank. */
  texts: AssistantBlock[];
  calls: HistoryCall[];
}

export interface AssistantBlock {
  id: string;
  timestamp: string;
  text: string;
  /** Whether the user interrupted the step at its end. */
  isInterrupted: boolean;
  source: RecordSource;
}

export interface HistoryCall {
  /** The record's ID. */
  id: string;
  timestamp: string;
  /** Unique in the history. */
  callId: string;
  name: string;
  /** The call's input; a value that was not an object becomes the `input` field of one. */
  input: Record<string, unknown>;
  result: HistoryResult;
}

export interface HistoryResult {
  /** The record's ID; a synthetic result's ID is always the same for the same call. */
  id: string;
  timestamp: string;
  output: unknown;
  isError: boolean;
  /** True when the records contained no result and this one stands in for it. */
  isSynthetic: boolean;
  reason?: ResultReason;
}

export type RepairKind =
  | 'line-skipped'
  | 'line-repaired'
  | 'call-without-result'
  | 'orphan-result'
  | 'late-result'
  | 'duplicate-record'
  | 'duplicate-call'
  | 'duplicate-result'
  | 'opening-added'
  | 'empty-text'
  | 'bad-input'
  | 'lone-surrogate';

export interface Repair {
  kind: RepairKind;
  /** The turn, such as `02`, if it is known. */
  turn?: string;
  /** The line of the transcript, from 1. */
  line?: number;
  /** One sentence that describes the problem and the repair. */
  text: string;
}

export const historyFormats = ['openai', 'anthropic', 'jsonl', 'markdown'] as const;
export type HistoryFormat = (typeof historyFormats)[number];
