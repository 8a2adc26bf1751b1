/**
 * Adds an answer's calls and all their results to the line as one entry, so that the line never has some without the
 * others.
 */
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import {
  recoveredOutput,
  type KnownRecord,
  type ToolResultRecord,
  type ToolUseRecord,
  type TranscriptRecord,
} from '../../conversation/records/record.ts';
import type { AnswerTarget } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';
import type { Line } from './append.ts';
import { appendIfAwaited, toAnswerTrailers } from './keep-answer.ts';
import type { Usage } from './receive-answer.ts';
import { describeRecords } from './describe-records.ts';

/** Appends the exchange. Returns null and keeps nothing when the turn no longer waits for it. */
export async function keepExchange(
  project: Project,
  target: Line,
  place: AnswerTarget,
  records: readonly KnownRecord[],
  usage: Usage | null,
): Promise<Oid | null> {
  const isRecovered = records.some((record) => record.type === 'tool_result' && record.reason === 'recovered');
  return appendIfAwaited(project, target, place, { isPlan: false }, () => ({
    kind: 'exchange',
    label: describeRecords(records),
    trailers: { ...toAnswerTrailers(place, usage), ...(isRecovered ? { status: 'RECOVERED' } : {}) },
    records: inOrder(records),
  }));
}

/** Puts text first, then the calls, then their results in call order, whichever call ended first. */
function inOrder(records: readonly KnownRecord[]): KnownRecord[] {
  const calls = records.filter(isCall);
  const results = records.filter(isResult);
  const said = records.filter((record) => !isCall(record) && !isResult(record));
  return [
    ...said,
    ...calls,
    ...calls.flatMap((call) => results.filter((result) => result.tool_call_id === call.tool_call_id)),
  ];
}

/**
 * Completes the records in a journal that a crash cut off: each call without a result gets one that reports the crash.
 * Empty when the journal contains no call.
 */
export function closeExchange(project: Project, journal: string): KnownRecord[] {
  const records = decodeTranscript(journal).records.filter(isKnown);
  const answered = new Set(records.filter(isResult).map((result) => result.tool_call_id));
  const calls = records.filter(isCall);
  if (calls.length === 0) return [];
  const missing = calls.filter((call) => !answered.has(call.tool_call_id));
  return [...records, ...missing.map((call) => toRecovered(project, call))];
}

function toRecovered(project: Project, { tool_call_id }: ToolUseRecord): ToolResultRecord {
  return {
    type: 'tool_result',
    id: project.ids.entryId(),
    timestamp: project.clock.now().toISOString(),
    tool_call_id,
    output: recoveredOutput,
    is_error: true,
    reason: 'recovered',
  };
}

function isKnown(record: TranscriptRecord): record is KnownRecord {
  return record.type !== 'other';
}

function isCall(record: KnownRecord): record is ToolUseRecord {
  return record.type === 'tool_use';
}

function isResult(record: KnownRecord): record is ToolResultRecord {
  return record.type === 'tool_result';
}
