/** `transcript.jsonl`: what was said in a turn, one JSON object a line, appended and never rewritten. */

interface RecordBase {
  id: string;
  /** ISO 8601. */
  timestamp: string;
}

export interface UserRecord extends RecordBase {
  type: 'user';
  message: { role: 'user'; content: string };
  source: string;
}

/** A complete answer: its text, or the name of the turn's file that holds it. */
interface AssistantRecord extends RecordBase {
  type: 'assistant';
  message: { role: 'assistant'; content: string } | { role: 'assistant'; file: string };
  source: string;
}

/** An answer that was interrupted, as far as it came. */
interface PartialRecord extends RecordBase {
  type: 'assistant_partial';
  message: { role: 'assistant'; content: string };
  source: string;
}

/** Something teddy has to say about the conversation. */
interface NoteRecord extends RecordBase {
  type: 'note';
  text: string;
}

/** Any other line: kept as it is, and ignored. */
interface OtherRecord {
  type: 'other';
  value: Record<string, unknown>;
}

export type TranscriptRecord = UserRecord | AssistantRecord | PartialRecord | NoteRecord | OtherRecord;

export interface Transcript {
  records: TranscriptRecord[];
  /** Lines (from 1) that hold no record. */
  skipped: { line: number; reason: string }[];
}

export type Answer = { complete: boolean; text: string } | { complete: true; file: string };

/** One line with its newline; the same record gives the same bytes, whatever the order of its keys. */
export function encodeRecord(record: TranscriptRecord): string {
  // Some readers of lines take these two for line ends.
  const escaped = { '\u2028': '\\u2028', '\u2029': '\\u2029' };
  const json = JSON.stringify(inCanonicalOrder(record));
  return `${json.replace(/[\u2028\u2029]/g, (found) => escaped[found as keyof typeof escaped])}\n`;
}

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

export function userMessages(records: readonly TranscriptRecord[]): string[] {
  return records.filter((record) => record.type === 'user').map((record) => record.message.content);
}

/**
 * What was answered since the user's last message: the last complete answer, else the last interrupted one, else
 * null. A turn whose last answer is not complete is open.
 */
export function lastAnswer(records: readonly TranscriptRecord[]): Answer | null {
  const since = records.slice(records.findLastIndex((record) => record.type === 'user') + 1);
  const complete = since.findLast((record) => record.type === 'assistant')?.message;
  if (complete)
    return 'file' in complete ? { complete: true, file: complete.file } : { complete: true, text: complete.content };
  const partial = since.findLast((record) => record.type === 'assistant_partial');
  return partial ? { complete: false, text: partial.message.content } : null;
}

function inCanonicalOrder(record: TranscriptRecord): object {
  if (record.type === 'other') return record.value;
  const { type, id, timestamp } = record;
  if (record.type === 'note') return { type, id, timestamp, text: record.text };
  const { message, source } = record;
  const { role } = message;
  const said = 'file' in message ? { role, file: message.file } : { role, content: message.content };
  return { type, id, timestamp, message: said, source };
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
  return { type: 'other', value };
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
