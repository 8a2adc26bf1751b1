/** Records in a transcript, in one line of a test each. */
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import type { KnownRecord, TranscriptRecord } from '../../src/conversation/records/record.ts';
import type { MemoryProject } from './memory-repository.ts';
import { line, session } from './turns.ts';

const timestamp = '2026-01-24T10:00:00.000Z';

export function user(id: string, content: string, source = 'text'): KnownRecord {
  return { type: 'user', id, timestamp, message: { role: 'user', content }, source };
}

export function assistant(id: string, content: string, source = 'text'): KnownRecord {
  return { type: 'assistant', id, timestamp, message: { role: 'assistant', content }, source };
}

export function partial(id: string, content: string): KnownRecord {
  return { type: 'assistant_partial', id, timestamp, message: { role: 'assistant', content }, source: 'text' };
}

export function call(id: string, name = 'read_file', input: unknown = { path: 'README.md' }): KnownRecord {
  return { type: 'tool_use', id: `${id}-use`, timestamp, tool_call_id: id, tool_name: name, tool_input: input };
}

export function result(id: string, output: unknown = 'done', isError = false): KnownRecord {
  return { type: 'tool_result', id: `${id}-result`, timestamp, tool_call_id: id, output, is_error: isError };
}

/** Reads a turn's records from the line. */
export async function recordsOf(project: MemoryProject, turn = '01'): Promise<TranscriptRecord[]> {
  const text = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/${turn}/transcript.jsonl`);
  return decodeTranscript(text ?? '').records;
}
