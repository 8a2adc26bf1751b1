/** Decodes one JSON value as a transcript record. */
import { toContentText } from './content-text.ts';
import { verdicts } from '../../session/entries/entry.ts';
import {
  resultReasons,
  type ApprovalRecord,
  type KnownRecord,
  type NoteRecord,
  type PlanRecord,
  type ToolResultRecord,
  type ToolUseRecord,
  type TranscriptRecord,
} from './record.ts';
import { isObject } from '../../session/text/parse-object.ts';
import { asText } from './import-values.ts';

/** `skipped`: why the value is not a record. `repaired`: how it differs from a normal record. Both are sentence fragments. */
export type DecodedRecord = { record: TranscriptRecord; repaired?: string } | { skipped: string };

type RecordBase = Pick<NoteRecord, 'id' | 'timestamp'>;
export const saidTypes = ['user', 'assistant', 'assistant_partial'] as const;
type SaidType = (typeof saidTypes)[number];

/** Writing JSON uses stack space, which runs out after a few thousand levels. */
const maxDepth = 500;
const tooDeep = `nested deeper than ${maxDepth} levels`;

/** Never throws, and returns only values that are serializable as JSON. */
export function decodeRecord(value: unknown): DecodedRecord {
  if (!isObject(value) || typeof value['type'] !== 'string') return { skipped: 'not an object with a type' };
  const { type } = value;
  // A record without an ID or time still contains something that was said.
  const base = { id: asText(value['id']) ?? '', timestamp: asText(value['timestamp']) ?? '' };
  if (type === 'assistant')
    return withReplyTo(withTokens(decodeSaid(type, value, base), value['tokens']), asText(value['reply_to']));
  if (type === 'assistant_partial') return withTokens(decodeSaid(type, value, base), value['tokens']);
  if (type === 'user') return decodeSaid(type, value, base);
  if (type === 'tool_use') return toDecoded(decodeCall(value, base));
  if (type === 'tool_result') return toDecoded(decodeResult(value, base));
  if (type === 'note') return toDecoded(decodeNote(value, base));
  if (type === 'plan' && hasFile(value)) return { record: decodePlan(value, base) };
  const verdict = verdicts.find((known) => known === value['verdict']);
  if (type === 'approval' && verdict !== undefined) return { record: decodeApproval(value, base, verdict) };
  const thought = asText(value['text']);
  if (type === 'thinking' && thought !== undefined) return { record: { type, ...base, text: thought } };
  if (type === 'voice_interrupted' || type === 'orchestrator_meta') {
    const { type: _type, id: _id, timestamp: _timestamp, ...details } = value;
    if (isDeep(details)) return { skipped: tooDeep };
    return { record: { type, ...base, details } };
  }
  return isDeep(value) ? { skipped: tooDeep } : { record: { type: 'other', value } };
}

function withReplyTo(decoded: DecodedRecord, replyTo: string | undefined): DecodedRecord {
  if (replyTo !== undefined && 'record' in decoded && decoded.record.type === 'assistant')
    decoded.record.reply_to = replyTo;
  return decoded;
}

/** Omits implausible counts. */
function withTokens(decoded: DecodedRecord, value: unknown): DecodedRecord {
  const { input, output, cached, reasoning } = isObject(value) ? value : {};
  const isAnswer =
    'record' in decoded && (decoded.record.type === 'assistant' || decoded.record.type === 'assistant_partial');
  if (isAnswer && isCount(input) && isCount(output))
    Object.assign(decoded.record, {
      tokens: {
        input,
        output,
        ...(isCount(cached) ? { cached } : {}),
        ...(isCount(reasoning) ? { reasoning } : {}),
      },
    });
  return decoded;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function toDecoded(found: TranscriptRecord | string): DecodedRecord {
  return typeof found === 'string' ? { skipped: found } : { record: found };
}

function decodeCall(value: Record<string, unknown>, base: RecordBase): ToolUseRecord | string {
  const callId = asText(value['tool_call_id']);
  if (callId === undefined) return 'a record of type tool_use without tool_call_id';
  if (isDeep(value['tool_input'])) return tooDeep;
  const toolName = asText(value['tool_name']) ?? '';
  return { type: 'tool_use', ...base, tool_call_id: callId, tool_name: toolName, tool_input: value['tool_input'] };
}

function decodeResult(value: Record<string, unknown>, base: RecordBase): ToolResultRecord | string {
  const callId = asText(value['tool_call_id']);
  if (callId === undefined) return 'a record of type tool_result without tool_call_id';
  if (isDeep(value['output'])) return tooDeep;
  const reason = resultReasons.find((known) => known === value['reason']);
  return {
    type: 'tool_result',
    ...base,
    tool_call_id: callId,
    output: value['output'],
    is_error: value['is_error'] === true,
    ...(reason === undefined ? {} : { reason }),
    ...(isTexts(value['changed_files']) ? { changed_files: value['changed_files'] } : {}),
  };
}

function hasFile({ file }: Record<string, unknown>): boolean {
  return typeof file === 'string' && file !== '';
}

function decodePlan(value: Record<string, unknown>, base: RecordBase): PlanRecord {
  const callId = asText(value['tool_call_id']);
  const of = callId === undefined ? {} : { tool_call_id: callId };
  return { type: 'plan', ...base, file: String(value['file']), ...of };
}

/** Omits invalid comments. */
function decodeApproval(
  value: Record<string, unknown>,
  base: RecordBase,
  verdict: ApprovalRecord['verdict'],
): ApprovalRecord {
  const given = Array.isArray(value['comments']) ? value['comments'] : [];
  const comments = given.flatMap((comment) => {
    const { line, text } = isObject(comment) ? comment : {};
    return isCount(line) && line > 0 && typeof text === 'string' ? [{ line, text }] : [];
  });
  const text = asText(value['text']);
  const sha256 = asText(value['plan_sha256']) ?? '';
  return { type: 'approval', ...base, verdict, plan_sha256: sha256, comments, ...(text === undefined ? {} : { text }) };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function decodeNote(value: Record<string, unknown>, base: RecordBase): NoteRecord | string {
  const text = asText(value['text']);
  if (text === undefined) return 'a note without text';
  const callId = asText(value['tool_call_id']);
  const records = value['records'];
  return {
    type: 'note',
    ...base,
    text,
    ...(callId === undefined ? {} : { tool_call_id: callId }),
    ...(Array.isArray(records) ? { records: records as KnownRecord[] } : {}),
  };
}

function decodeSaid(type: SaidType, value: Record<string, unknown>, base: RecordBase): DecodedRecord {
  const message = isObject(value['message']) ? value['message'] : {};
  const source = asText(value['source']) ?? 'text';
  const file = asText(message['file']);
  if (type === 'assistant' && file !== undefined)
    return { record: { type, ...base, message: { role: 'assistant', file }, source } };
  if (type === 'user' && file !== undefined)
    return { record: { type, ...base, message: { role: 'user', file }, source } };
  const { content } = message;
  if (content === undefined || content === null) return { skipped: `a record of type ${type} without message.content` };
  if (typeof content === 'string') return { record: toSaid(type, base, content, source) };
  if (isDeep(content)) return { skipped: tooDeep };
  const { text, foreign } = toContentText(content);
  const record = toSaid(type, base, text, source);
  return foreign.length === 0 ? { record } : { record, repaired: `as text: content of type ${foreign.join(', ')}` };
}

function toSaid(type: SaidType, base: RecordBase, content: string, source: string): TranscriptRecord {
  const { id, timestamp } = base;
  if (type === 'user') return { type, id, timestamp, message: { role: 'user', content }, source };
  return { type, id, timestamp, message: { role: 'assistant', content }, source };
}

function isDeep(value: unknown, levels = maxDepth): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1));
}
