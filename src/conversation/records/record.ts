/** The records of a transcript: what was said and called, message by message. */
import type { Tokens, VerdictWord } from '../../session/entries/entry.ts';

interface RecordBase {
  /** Unique in its session; empty in a damaged line. */
  id: string;
  /** ISO 8601; empty in a damaged line. */
  timestamp: string;
}

/** How it came: `text`, `voice_transcription`, `voice_response`, `plan`, `report`, `import`, `capture`, `question`; others are kept. */
export type RecordSource = string;

/**
 * It was followed in another agent's log, where each record has an id of its own: two that say the same are two. A turn ends there
 * with an answer, or without one.
 */
export const captureSource = 'capture';

/** The program wrote this in place of words that it could not go on showing the model: no answer to anybody. */
export const summarySource = 'compaction_summary';

/** A message that asks about the pending plan. */
export const questionSource = 'question';

/** `file` stands for the content of a file of the turn: `plan.md`, `report.md`. */
type Said<Role extends string> = { role: Role; content: string } | { role: Role; file: string };

export interface UserRecord extends RecordBase {
  type: 'user';
  message: Said<'user'>;
  source: RecordSource;
}

/** A complete text of an answer; with calls after it, the text before the calls. */
export interface AssistantRecord extends RecordBase {
  type: 'assistant';
  message: Said<'assistant'>;
  source: RecordSource;
  /** The endpoint counted them, with all that led to the answer. */
  tokens?: Tokens;
  /** The id of the user's message that it answers, where another one has come by then: that one still waits. */
  reply_to?: string;
}

/** An answer that was interrupted, as far as it came. */
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
  /** An object, if the model wrote it well; else what it wrote. */
  tool_input: unknown;
}

/**
 * Why a result is not that of the tool. `recovered`: a crash came between call and result. `instructed`: the user has said what to
 * do instead.
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
  /** Paths of the project that a command has changed. */
  changed_files?: string[];
}

/** The user has spoken into an answer, or into the tools. */
export interface InterruptedRecord extends RecordBase {
  type: 'voice_interrupted';
  /** Whatever else the front end says of it. */
  details: Record<string, unknown>;
}

/** A front end's own notes: a switch between voice and text, its session id. No part of the conversation. */
export interface MetaRecord extends RecordBase {
  type: 'orchestrator_meta';
  details: Record<string, unknown>;
}

/** Something teddy has to say about the conversation. */
export interface NoteRecord extends RecordBase {
  type: 'note';
  text: string;
  /** The call that it is about: that of a sub-agent. */
  tool_call_id?: string;
  /** The records of a sub-agent's own conversation, which is no part of this one. */
  records?: KnownRecord[];
}

/** The model thought this before it answered: no part of the answer, and never shown to a model. */
export interface ThinkingRecord extends RecordBase {
  type: 'thinking';
  text: string;
}

/**
 * The plan that another agent has made: its words are those of the call or answer that comes after it. It is not for teddy to
 * execute, and need not be in teddy's grammar.
 */
export interface PlanRecord extends RecordBase {
  type: 'plan';
  /** The file of the turn that holds it: `plan.md`. */
  file: string;
  /** The call that hands it in. */
  tool_call_id?: string;
}

/** The word on a plan; the author of its commit is who said it. */
export interface ApprovalRecord extends RecordBase {
  type: 'approval';
  /** `none`: a gate ended without anybody's verdict, and the agent asked by itself. */
  verdict: VerdictWord;
  /** Hexadecimal; the verdict is about these bytes and no others. */
  plan_sha256: string;
  /** `line`: the line of the plan that it is about, from 1. */
  comments: { line: number; text: string }[];
  text?: string;
}

/** A line of another type: kept as it is, and ignored. */
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

/** The results of tools that did not run to their end say these. */
export const deniedOutput = 'Tool execution denied by user';
export const toInstructedOutput = (instruction: string) =>
  `Nothing was run. The user says instead: ${instruction.trim()}`;
export const abortedOutput = 'Tool execution aborted by user';
export const recoveredOutput = 'Tool execution was interrupted by a crash; its result is not known';
/** This stands in for a result that no record holds. */
export const missingOutput = 'No result of this tool was recorded; what it did is not known';
