/** The history of a conversation, in a form that no provider has and each can be rendered from. */
import type { ResultReason, RecordSource } from '../records/record.ts';

/** Whole and in order; nothing of it is lost, and nothing in it can break a rule of a provider's. */
export interface History {
  turns: HistoryTurn[];
  /** The repairs that were needed, in the order in which they were met. */
  repairs: Repair[];
}

/** The user's words, and all that came of them until the user spoke again. */
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

/** One message of the assistant, with the results that follow it at once. Only the last step of a turn may have no calls. */
export interface HistoryStep {
  /** Never blank. */
  texts: AssistantBlock[];
  calls: HistoryCall[];
}

export interface AssistantBlock {
  id: string;
  timestamp: string;
  text: string;
  /** It ends where it was interrupted. */
  isInterrupted: boolean;
  source: RecordSource;
}

export interface HistoryCall {
  /** The id of the record. */
  id: string;
  timestamp: string;
  /** Unique in the history. */
  callId: string;
  name: string;
  /** The input of the call; a value that was no object is in one, as its `input`. */
  input: Record<string, unknown>;
  result: HistoryResult;
}

export interface HistoryResult {
  /** The id of the record; a synthetic result always gets the same id for the same call. */
  id: string;
  timestamp: string;
  output: unknown;
  isError: boolean;
  /** There was none: it stands in for one. */
  isSynthetic: boolean;
  reason?: ResultReason;
}

export type RepairKind =
  | 'line-skipped'
  | 'line-mended'
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
  /** The turn, where it is known: `02`. */
  turn?: string;
  /** The line of the transcript, from 1. */
  line?: number;
  /** One sentence: what was met, and what became of it. */
  text: string;
}

export const historyFormats = ['openai', 'anthropic', 'jsonl', 'markdown'] as const;
export type HistoryFormat = (typeof historyFormats)[number];
