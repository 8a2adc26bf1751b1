/** Renders a history as records, one per line: the transcript as it would be if nothing had ever gone wrong. */
import type { AssistantBlock, History, HistoryCall, HistoryStep, UserBlock } from './history.ts';
import type { KnownRecord } from '../records/record.ts';
import { encodeRecord } from '../records/transcript.ts';

/** Reading the result and rendering it again produces equal bytes. */
export function renderJsonl(history: History): string {
  const records = history.turns.flatMap(({ said, steps }) => [...said.map(toUser), ...steps.flatMap(toRecords)]);
  return records.map(encodeRecord).join('');
}

function toUser({ id, timestamp, text, source }: UserBlock): KnownRecord {
  return { type: 'user', id, timestamp, message: { role: 'user', content: text }, source };
}

function toRecords({ texts, calls }: HistoryStep): KnownRecord[] {
  return [...texts.map(toAnswer), ...calls.map(toCall), ...calls.map(toResult)];
}

function toAnswer({ id, timestamp, text, isInterrupted, source }: AssistantBlock): KnownRecord {
  const type = isInterrupted ? 'assistant_partial' : 'assistant';
  return { type, id, timestamp, message: { role: 'assistant', content: text }, source };
}

function toCall({ id, timestamp, callId, name, input }: HistoryCall): KnownRecord {
  return { type: 'tool_use', id, timestamp, tool_call_id: callId, tool_name: name, tool_input: input };
}

function toResult({ callId, result }: HistoryCall): KnownRecord {
  const { id, timestamp, output, isError, reason } = result;
  const record: KnownRecord = { type: 'tool_result', id, timestamp, tool_call_id: callId, output, is_error: isError };
  return reason === undefined ? record : { ...record, reason };
}
