/** Records as sent by other programs: without an ID, time or source, and with calls among a content's blocks. */
import { TeddyError } from '../../errors.ts';
import type { Hash } from '../../ports/project.ts';
import { splitContent } from './content-calls.ts';
import { decodeRecord } from './decode-record.ts';
import { toUuid } from './import-ids.ts';
import type { KnownRecord } from './record.ts';
import { encodeRecord } from './transcript.ts';

type Optional = 'id' | 'timestamp' | 'source' | 'is_error';
type Given<Known> = Known extends KnownRecord
  ? Omit<Known, Optional> & Partial<Pick<Known, Extract<keyof Known, Optional>>>
  : never;

/** A record without an ID receives one that is the same for equal words at equal times. */
export type GivenRecord = Given<KnownRecord>;

/** `now` is the ISO 8601 time for records without one. Throws BAD_RECORD. */
export function completeRecords(given: readonly GivenRecord[], now: string, hash: Hash): KnownRecord[] {
  return given.flatMap(splitGiven).map((value) => completeRecord(value, now, hash));
}

/** Parses the record's JSON, which drops values that are not serializable. */
function splitGiven(record: GivenRecord): unknown[] {
  return splitContent(JSON.parse(JSON.stringify(record) ?? 'null'));
}

function completeRecord(value: unknown, now: string, hash: Hash): KnownRecord {
  const decoded = decodeRecord(value);
  if ('skipped' in decoded) throw toBad(`What was sent is ${decoded.skipped}.`);
  const { record } = decoded;
  if (record.type === 'other') throw toBad(`${JSON.stringify(record.value['type'])} is not a record type.`);
  // A plan's words are in a call, and a verdict's authority comes only from the author of its commit.
  if (record.type === 'plan' || record.type === 'approval')
    throw toBad(`A record of type ${record.type} cannot be sent.`);
  const whole = record.type === 'tool_use' ? { ...record, tool_input: record.tool_input ?? {} } : record;
  const id = isAbsent(value, 'id') ? toUuid(hash(encodeRecord({ ...whole, id: '' }))) : whole.id;
  return { ...whole, id, timestamp: whole.timestamp === '' ? now : whole.timestamp };
}

/** An empty ID is a mistake; a missing ID is not. */
function isAbsent(value: unknown, name: string): boolean {
  const found = (value as Record<string, unknown>)[name];
  return found === undefined || found === null;
}

function toBad(message: string): TeddyError {
  return new TeddyError(
    'BAD_RECORD',
    message,
    'See docs/format.md, or /openapi.json of `teddy serve`, for the format of a record.',
  );
}
