/** Reads `transcript.jsonl` back. Total: no text makes it throw. */
import type { NoteRecord, ToolResultRecord, ToolUseRecord, TranscriptRecord } from './record.ts';
import type { Transcript } from './transcript.ts';

type RecordBase = Pick<NoteRecord, 'id' | 'timestamp'>;

/** Never throws: a torn or damaged line is skipped and counted; a line of an unknown type becomes an `OtherRecord`. */
export function decodeTranscript(text: string): Transcript {
  const transcript: Transcript = { records: [], skipped: [] };
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const decoded = decodeLine(line);
    if (typeof decoded === 'string') transcript.skipped.push({ line: index + 1, reason: decoded });
    else transcript.records.push(decoded);
  }
  return transcript;
}

/** The record of a line, or why there is none. */
function decodeLine(line: string): TranscriptRecord | string {
  const value = parseJson(line);
  if (value === undefined) return 'not JSON';
  if (!isObject(value) || typeof value['type'] !== 'string') return 'not an object with a type';
  const { type } = value;
  // A record of ours without these is still something that was said.
  const base = { id: asText(value['id']) ?? '', timestamp: asText(value['timestamp']) ?? '' };
  if (type === 'note') return decodeNote(value, base);
  if (type === 'user' || type === 'assistant' || type === 'assistant_partial') return decodeSaid(type, value, base);
  if (type === 'tool_use') return decodeCall(value, base);
  if (type === 'tool_result') return decodeResult(value, base);
  if (type === 'voice_interrupted' || type === 'orchestrator_meta') {
    const { type: _type, id: _id, timestamp: _timestamp, ...details } = value;
    return { type, ...base, details };
  }
  return { type: 'other', value };
}

function decodeCall(value: Record<string, unknown>, base: RecordBase): ToolUseRecord | string {
  const callId = asText(value['tool_call_id']);
  if (callId === undefined) return 'a record of type tool_use without tool_call_id';
  const toolName = asText(value['tool_name']) ?? '';
  return { type: 'tool_use', ...base, tool_call_id: callId, tool_name: toolName, tool_input: value['tool_input'] };
}

function decodeResult(value: Record<string, unknown>, base: RecordBase): ToolResultRecord | string {
  const callId = asText(value['tool_call_id']);
  if (callId === undefined) return 'a record of type tool_result without tool_call_id';
  const reason = (['denied', 'aborted', 'recovered'] as const).find((known) => known === value['reason']);
  return {
    type: 'tool_result',
    ...base,
    tool_call_id: callId,
    output: value['output'],
    is_error: value['is_error'] === true,
    ...(reason === undefined ? {} : { reason }),
  };
}

function decodeNote(value: Record<string, unknown>, base: RecordBase): NoteRecord | string {
  const text = asText(value['text']);
  return text === undefined ? 'a note without text' : { type: 'note', ...base, text };
}

function decodeSaid(
  type: 'user' | 'assistant' | 'assistant_partial',
  value: Record<string, unknown>,
  base: RecordBase,
): TranscriptRecord | string {
  const message = isObject(value['message']) ? value['message'] : {};
  const source = asText(value['source']) ?? 'text';
  const file = asText(message['file']);
  if (type === 'assistant' && file !== undefined)
    return { type, ...base, message: { role: 'assistant', file }, source };
  if (type === 'user' && file !== undefined) return { type, ...base, message: { role: 'user', file }, source };
  const content = asText(message['content']);
  if (content === undefined) return `a record of type ${type} without message.content`;
  if (type === 'user') return { type, ...base, message: { role: 'user', content }, source };
  return { type, ...base, message: { role: 'assistant', content }, source };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
