/** `transcript.jsonl`: everything said in a turn, one JSON object per line, appended and never rewritten. */
import type { Tokens } from '../../session/entries/entry.ts';
import {
  captureSource,
  summarySource,
  type AssistantRecord,
  type KnownRecord,
  type TranscriptRecord,
} from './record.ts';

/** `line` counts from 1. `reason` is a sentence fragment for the user. */
export interface LineIssue {
  line: number;
  reason: string;
}

export interface Transcript {
  records: TranscriptRecord[];
  /** Lines without a record, or with an object that is not a record. */
  skipped: LineIssue[];
  /** Lines with several records, or with a damaged or unusual one; `records` contains the readable parts. */
  repaired: LineIssue[];
}

export type Answer = { complete: boolean; text: string } | { complete: true; file: string };

/** Encodes a record as one line with its newline; equal records produce equal bytes, whatever their key order. */
export function encodeRecord(record: TranscriptRecord): string {
  // Some line readers treat these two characters as line ends.
  const escaped = { '\u2028': '\\u2028', '\u2029': '\\u2029' };
  const json = JSON.stringify(inCanonicalOrder(record));
  return `${json.replace(/[\u2028\u2029]/g, (found) => escaped[found as keyof typeof escaped])}\n`;
}

/** Lists the user's messages in order, except reports, which are in files. */
export function userMessages(records: readonly TranscriptRecord[]): string[] {
  return records.flatMap((record) =>
    record.type === 'user' && 'content' in record.message ? [record.message.content] : [],
  );
}

/**
 * Finds the answer to the user's last message: the last complete answer, otherwise the last interrupted one, otherwise
 * null. A text before calls is not an answer yet. A turn without a complete last answer is open.
 */
export function lastAnswer(records: readonly TranscriptRecord[]): Answer | null {
  const since = afterLastMessage(records);
  const waiting = lastMessageId(records);
  const said = since.slice(since.findLastIndex((record) => record.type === 'tool_use') + 1);
  const complete = said
    .filter((record) => record.type === 'assistant')
    .filter(({ source }) => source !== summarySource)
    .findLast((record) => isReplyTo(record, waiting))?.message;
  if (complete)
    return 'file' in complete ? { complete: true, file: complete.file } : { complete: true, text: complete.content };
  const partial = said.findLast((record) => record.type === 'assistant_partial');
  return partial ? { complete: false, text: partial.message.content } : null;
}

/** Returns true if this message (by default, any message) is the user's last one and waits for an answer. */
export function isUnanswered(records: readonly TranscriptRecord[], message?: string): boolean {
  const last = userMessages(records).at(-1);
  return last !== undefined && (message ?? last) === last && lastAnswer(records)?.complete !== true;
}

/** The ID of the user's last message; null when there is none. */
export function lastMessageId(records: readonly TranscriptRecord[]): string | null {
  return records.findLast((record) => record.type === 'user')?.id ?? null;
}

/** Returns false when the record answers an earlier message. */
function isReplyTo({ reply_to }: AssistantRecord, messageId: string | null): boolean {
  return reply_to === undefined || reply_to === messageId;
}

/** Returns true if the user has denied a tool since the user's last message; the denial ended the turn. */
export function endsDenied(records: readonly TranscriptRecord[]): boolean {
  return afterLastMessage(records).findLast((record) => record.type === 'tool_result')?.reason === 'denied';
}

/** Returns true if another agent made the turn's plan; teddy does not execute that plan. */
export function hasAgentPlan(records: readonly TranscriptRecord[]): boolean {
  return records.some(({ type }) => type === 'plan');
}

/**
 * Returns true if the turn ends with another agent's plan that nobody has judged. The agent may have said something
 * since: Codex submits a plan in its answer.
 */
export function endsWithAgentPlan(records: readonly TranscriptRecord[]): boolean {
  return records.findLast(({ type }) => type !== 'assistant')?.type === 'plan';
}

/**
 * Returns true if the next turn may begin without an answer: the turn's agent may have been killed, or it judges its
 * plans itself.
 */
export function mayEndOpen(records: readonly TranscriptRecord[]): boolean {
  const message = records.findLast(({ type }) => type === 'user');
  return (message?.type === 'user' && message.source === captureSource) || hasAgentPlan(records);
}

/** Returns true if somebody has approved or rejected another agent's plan since the user's last message. */
export function endsJudged(records: readonly TranscriptRecord[]): boolean {
  const isVerdict = (record: TranscriptRecord) => record.type === 'approval' && record.verdict !== 'none';
  return hasAgentPlan(records) && afterLastMessage(records).some(isVerdict);
}

/** Returns the records after the user's last message. */
export function afterLastMessage(records: readonly TranscriptRecord[]): TranscriptRecord[] {
  return records.slice(records.findLastIndex((record) => record.type === 'user') + 1);
}

/** Returns the answers to messages that precede the waiting one. */
export function toEarlierReplies(since: readonly TranscriptRecord[]): TranscriptRecord[] {
  return since.filter((record) => record.type === 'assistant' && record.reply_to !== undefined);
}

/**
 * Keeps the records from after a message up to the last call or result. If an interrupted answer follows, teddy
 * requests that answer again.
 */
export function toFinishedCalls(since: readonly TranscriptRecord[]): TranscriptRecord[] {
  const end = since.findLastIndex(({ type }) => type === 'tool_use' || type === 'tool_result') + 1;
  const isEarlier = (record: TranscriptRecord) => record.type === 'assistant' && record.reply_to !== undefined;
  return since.slice(0, end).filter((record) => record.type !== 'assistant_partial' && !isEarlier(record));
}

/** Records that are not part of the conversation itself. */
const silentTypes: TranscriptRecord['type'][] = [
  'note',
  'thinking',
  'orchestrator_meta',
  'voice_interrupted',
  'plan',
  'approval',
  'other',
];

/** Counts the records that contain words or calls; other records do not affect the turn's state. */
export function countSaid(records: readonly TranscriptRecord[]): number {
  return records.filter(({ type }) => !silentTypes.includes(type)).length;
}

function inCanonicalOrder(record: TranscriptRecord): object {
  if (record.type === 'other') return record.value;
  const { type, id, timestamp } = record;
  return { type, id, timestamp, ...toFields(record) };
}

function inOrder({ input, output, cached, reasoning }: Tokens): Tokens {
  return {
    input,
    output,
    ...(cached === undefined ? {} : { cached }),
    ...(reasoning === undefined ? {} : { reasoning }),
  };
}

function toFields(record: KnownRecord): object {
  switch (record.type) {
    case 'note': {
      const { text, tool_call_id, records } = record;
      return { text, ...(tool_call_id === undefined ? {} : { tool_call_id }), ...(records ? { records } : {}) };
    }
    case 'thinking':
      return { text: record.text };
    case 'plan': {
      const { file, tool_call_id } = record;
      return { file, ...(tool_call_id === undefined ? {} : { tool_call_id }) };
    }
    case 'approval': {
      const { verdict, plan_sha256, comments, text } = record;
      const inOrder = comments.map((comment) => ({ line: comment.line, text: comment.text }));
      return { verdict, plan_sha256, comments: inOrder, ...(text === undefined ? {} : { text }) };
    }
    case 'tool_use':
      return { tool_call_id: record.tool_call_id, tool_name: record.tool_name, tool_input: record.tool_input };
    case 'tool_result': {
      const { tool_call_id, output, is_error, reason, changed_files } = record;
      const more = { ...(reason === undefined ? {} : { reason }), ...(changed_files ? { changed_files } : {}) };
      return { tool_call_id, output, is_error, ...more };
    }
    case 'voice_interrupted':
    case 'orchestrator_meta': {
      // The record's own fields come first, and details cannot override them.
      const { type: _type, id: _id, timestamp: _timestamp, ...details } = record.details;
      return details;
    }
    default: {
      const { message, source } = record;
      const { role } = message;
      const said = 'file' in message ? { role, file: message.file } : { role, content: message.content };
      const replyTo = record.type === 'assistant' ? record.reply_to : undefined;
      const tokens = record.type === 'user' ? undefined : record.tokens;
      return {
        message: said,
        source,
        ...(replyTo === undefined ? {} : { reply_to: replyTo }),
        ...(tokens === undefined ? {} : { tokens: inOrder(tokens) }),
      };
    }
  }
}

/** Limits the total size of all versions of a turn's transcript: `free` characters plus `times` the last version's size. */
export const versionLimits = { free: 16 * 1024 * 1024, times: 16 };
