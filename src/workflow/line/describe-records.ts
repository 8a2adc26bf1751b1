/** The label of an entry that holds records of a conversation. */
import type { KnownRecord, ResultReason } from '../../conversation/record.ts';
import type { Entry } from '../../session/entry.ts';
import { toLabelLines } from './keep-answer.ts';

/** Describes records for a commit: the first lines of a text, the calls by name. */
export function describeRecords(records: readonly KnownRecord[]): Pick<Entry, 'title' | 'details'> {
  const calls = records.flatMap((record) => (record.type === 'tool_use' ? [record] : []));
  if (calls.length > 0) return describeCalls(records, calls);
  const [record] = records;
  if (record === undefined) return { title: '', details: [] };
  if (record.type === 'assistant_partial')
    return { ...toLabelLines(record.message.content), title: 'interrupted answer' };
  if (record.type === 'user' || record.type === 'assistant')
    return toLabelLines('file' in record.message ? record.message.file : record.message.content);
  if (record.type === 'note' || record.type === 'thinking')
    return toLabelLines(`${record.type}: ${record.text.trim()}`);
  return { title: record.type === 'voice_interrupted' ? 'the user interrupted' : record.type, details: [] };
}

function describeCalls(
  records: readonly KnownRecord[],
  calls: readonly Extract<KnownRecord, { type: 'tool_use' }>[],
): Pick<Entry, 'title' | 'details'> {
  const details = calls.map(({ tool_name, tool_input, tool_call_id }, at) => {
    const result = records.find((record) => record.type === 'tool_result' && record.tool_call_id === tool_call_id);
    const outcome = result?.type === 'tool_result' ? describeOutcome(result) : '';
    return `${at + 1}. ${tool_name} ${JSON.stringify(tool_input) ?? ''}${outcome}`;
  });
  const names = calls.map(({ tool_name }) => tool_name);
  const title = names.length === 1 ? `call ${names[0]}` : `${names.length} calls: ${names.join(', ')}`;
  return { title, details };
}

const reasonWords: Record<ResultReason, string> = {
  denied: ': denied',
  instructed: ': not run, the user said what to do instead',
  aborted: ': aborted',
  recovered: ': interrupted by a crash',
};

function describeOutcome({ is_error, reason }: Extract<KnownRecord, { type: 'tool_result' }>): string {
  if (reason !== undefined) return reasonWords[reason];
  return is_error ? ': failed' : '';
}
