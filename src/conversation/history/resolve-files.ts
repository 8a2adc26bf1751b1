/** Fills in records that refer to the turn's files: the answered plan, and the report of its run. */
import type { Repair } from './history.ts';
import { questionSource, type TranscriptRecord } from '../records/record.ts';
import type { Transcript } from '../records/transcript.ts';

/** Reads a file of a turn; null when the turn has no such file. */
export interface TurnFiles {
  plan: string | null;
  report: string | null;
}

/**
 * Gives every record its content. Adds a record for a plan or report that has none, always in the same place: the
 * report, as a user message, follows the plan and the questions about the plan with their answers. Leaves a record that
 * refers to a missing file unchanged, and reports it.
 */
export function resolveFiles(
  turn: string,
  transcript: Transcript,
  files: TurnFiles,
): { transcript: Transcript; repairs: Repair[] } {
  const repairs: Repair[] = [];
  const records = addRecords(turn, transcript.records, files).map((record): TranscriptRecord => {
    const file = toFile(record);
    if (file === null) return record;
    const content = file === 'plan.md' ? files.plan : file === 'report.md' ? files.report : null;
    if (content !== null) return withContent(record, content);
    const text = `A record refers to ${JSON.stringify(file)}, but the turn has no such file: only its name is known.`;
    repairs.push({ kind: 'line-skipped', turn, text });
    return record;
  });
  return { transcript: { ...transcript, records }, repairs };
}

/** Adds a record for each existing file that no record refers to. */
function addRecords(
  turn: string,
  records: readonly TranscriptRecord[],
  { plan, report }: TurnFiles,
): TranscriptRecord[] {
  const refersTo = (name: string) => (record: TranscriptRecord) => toFile(record) === name;
  const complete = [...records];
  if (plan !== null && !complete.some(refersTo('plan.md'))) complete.push(toPlanRecord(turn, complete));
  if (report !== null && !complete.some(refersTo('report.md'))) {
    const at = complete.findLastIndex(refersTo('plan.md'));
    complete.splice(at === -1 ? complete.length : at + countAsked(complete.slice(at)), 0, toReportRecord(turn, report));
  }
  return complete;
}

/**
 * Counts the plan and the questions asked about it before its run. Without a question, counts only the plan, whatever
 * was said afterwards.
 */
function countAsked(records: readonly TranscriptRecord[]): number {
  const isAsked = (record: TranscriptRecord) => record.type === 'user' && record.source === questionSource;
  const end = records.findIndex((record) => record.type === 'user' && !isAsked(record));
  const asked = end === -1 ? records : records.slice(0, end);
  return asked.some(isAsked) ? asked.length : 1;
}

function toPlanRecord(turn: string, records: readonly TranscriptRecord[]): TranscriptRecord {
  const last = records.findLast((record) => record.type !== 'other');
  return {
    type: 'assistant',
    id: `${turn}/plan.md`,
    timestamp: last?.timestamp ?? '',
    message: { role: 'assistant', file: 'plan.md' },
    source: 'plan',
  };
}

function toReportRecord(turn: string, report: string): TranscriptRecord {
  return {
    type: 'user',
    id: `${turn}/report.md`,
    timestamp: /^ +end_time: ["']?(\d{4}-[\w:.-]+)/m.exec(report)?.[1] ?? '',
    message: { role: 'user', file: 'report.md' },
    source: 'report',
  };
}

function toFile(record: TranscriptRecord): string | null {
  if (record.type === 'plan') return record.file;
  if (record.type !== 'user' && record.type !== 'assistant') return null;
  return 'file' in record.message ? record.message.file : null;
}

function withContent(record: TranscriptRecord, content: string): TranscriptRecord {
  if (record.type === 'user') return { ...record, message: { role: 'user', content } };
  if (record.type === 'assistant') return { ...record, message: { role: 'assistant', content } };
  return record;
}
