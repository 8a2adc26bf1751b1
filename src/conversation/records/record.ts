/** A transcript's records, each of which is a message or a call. */
import type { Tokens, VerdictWord } from '../../session/entries/entry.ts';

interface RecordBase {
  /** Unique within the session; empty in a damaged line. */
  id: string;
  /** ISO 8601; empty in a damaged line. */
  timestamp: string;
}

/**
 * How the record arrived: `text`, `voice_transcription`, `voice_response`, `plan`, `report`, `import`, `capture`,
 * `question`; other values are kept.
 */
export type RecordSource = string;

/**
 * A record that was followed in another agent's log, where each record has its own ID, so equal words in two records
 * are two messages. A turn in such a log may end without an answer.
 */
export const captureSource = 'capture';

/** Written by a program in place of words that it could no longer show the model; not an answer to any message. */
export const summarySource = 'compaction_summary';

/** A message that asks about the pending plan. */
export const questionSource = 'question';

/** `file` names the turn's file with the content: `plan.md`, `report.md`. */
type Said<Role extends string> = { role: Role; content: string } | { role: Role; file: string };

export interface UserRecord extends RecordBase {
  type: 'user';
  message: Said<'user'>;
  source: RecordSource;
}

/** A complete text of an answer, or the text before its calls. */
export interface AssistantRecord extends RecordBase {
  type: 'assistant';
  message: Said<'assistant'>;
  source: RecordSource;
  /** The endpoint's counts, including all work that led to the answer. */
  tokens?: Tokens;
  /** The ID of the answered user message, if another message had arrived meanwhile; the newer message is still waiting. */
  reply_to?: string;
}

/** The part of an interrupted answer that arrived. */
export interface PartialRecord extends RecordBase {
  type: 'assistant_partial';
  message: { role: 'assistant'; content: string };
  source: RecordSource;
  tokens?: Tokens;
}

export interface ToolUseRecord extends RecordBase {
  type: 'tool_use';
  tool_call_id: string;
  tool_name: string;
  /** An object if the model wrote valid JSON; otherwise the model's text. */
  tool_input: unknown;
}

/**
 * Why a result does not come from the tool. `recovered`: a crash occurred between call and result. `instructed`: the
 * user gave instructions instead.
 */
export const resultReasons = ['denied', 'instructed', 'aborted', 'recovered'] as const;
export type ResultReason = (typeof resultReasons)[number];

export interface ToolResultRecord extends RecordBase {
  type: 'tool_result';
  tool_call_id: string;
  /** Text, content blocks, an object, or nothing. */
  output: unknown;
  is_error: boolean;
  reason?: ResultReason;
  /** Project paths that a command changed. */
  changed_files?: string[];
}

/** The user interrupted an answer or the tools. */
export interface InterruptedRecord extends RecordBase {
  type: 'voice_interrupted';
  /** All other fields that the front end sends about the interruption. */
  details: Record<string, unknown>;
}

/** A front end's own notes, such as a switch between voice and text, or its session ID. Not part of the conversation. */
export interface MetaRecord extends RecordBase {
  type: 'orchestrator_meta';
  details: Record<string, unknown>;
}

/** teddy's remark about the conversation. */
export interface NoteRecord extends RecordBase {
  type: 'note';
  text: string;
  /** The call that the note is about: a sub-agent's call. */
  tool_call_id?: string;
  /** The records of a sub-agent's own conversation, which is separate from this one. */
  records?: KnownRecord[];
}

/** The model's thoughts before its answer. Not part of the answer, and never shown to a model. */
export interface ThinkingRecord extends RecordBase {
  type: 'thinking';
  text: string;
}

/**
 * A plan by another agent; its words are in the call or answer that follows. teddy does not execute the plan, which
 * need not follow teddy's grammar.
 */
export interface PlanRecord extends RecordBase {
  type: 'plan';
  /** The turn's file with the plan: `plan.md`. */
  file: string;
  /** The call that submits the plan. */
  tool_call_id?: string;
}

/** A verdict on a plan, given by the author of its commit. */
export interface ApprovalRecord extends RecordBase {
  type: 'approval';
  /** `none`: a gate ended without a verdict, and the agent itself asked the user. */
  verdict: VerdictWord;
  /** Hexadecimal. The verdict applies to exactly these bytes. */
  plan_sha256: string;
  /** `line`: the plan's commented line, from 1. */
  comments: { line: number; text: string }[];
  text?: string;
}

/** A line of another type: kept unchanged but ignored. */
interface OtherRecord {
  type: 'other';
  value: Record<string, unknown>;
}

export type KnownRecord =
  | UserRecord
  | AssistantRecord
  | PartialRecord
  | ToolUseRecord
  | ToolResultRecord
  | InterruptedRecord
  | MetaRecord
  | NoteRecord
  | ThinkingRecord
  | PlanRecord
  | ApprovalRecord;

export type TranscriptRecord = KnownRecord | OtherRecord;

/** The recorded results of tools that did not finish. */
export const deniedOutput = 'Tool execution denied by user';
export const toInstructedOutput = (instruction: string) =>
  `Nothing was run. The user says instead: ${instruction.trim()}`;
export const abortedOutput = 'Tool execution aborted by user';
export const recoveredOutput = 'Tool execution was interrupted by a crash; its result is not known';
/** Stands in for a result that was never recorded. */
export const missingOutput = 'No result of this tool was recorded; what it did is not known';
