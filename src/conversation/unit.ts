/** A unit is what is stored together or not at all: a message, calls with all their results, an answer. */
import { TeddyError } from '../errors.ts';
import type { KnownRecord, ToolResultRecord, ToolUseRecord } from './record.ts';

export type UnitKind = 'message' | 'exchange' | 'reply';

/**
 * The entry that records become. Throws BAD_RECORD where they are no unit: several that are no exchange, a call without its
 * result, a result without its call, two results of one call.
 */
export function toUnitKind(records: readonly KnownRecord[]): UnitKind {
  const [first] = records;
  if (first === undefined) throw new TeddyError('BAD_RECORD', 'There is no record.', 'Send one.');
  requireIds(records);
  if (records.some(isOfExchange)) return requireExchange(records);
  if (records.length > 1) {
    throw new TeddyError(
      'BAD_RECORD',
      'Only the calls of an answer and their results are stored together.',
      'Send these records one by one.',
    );
  }
  return first.type === 'user' ? 'message' : 'reply';
}

/** A client may send records again; their ids tell that they are known. */
function requireIds(records: readonly KnownRecord[]): void {
  const bad = records.find(({ id }) => !/^[\x21-\x7e]{1,200}$/.test(id));
  if (bad !== undefined) {
    throw new TeddyError(
      'BAD_RECORD',
      `${JSON.stringify(bad.id.slice(0, 60))} is no id of a record.`,
      'An id is 1 to 200 visible ASCII characters, e.g. a UUID.',
    );
  }
  const ids = records.map(({ id }) => id);
  if (new Set(ids).size !== ids.length)
    throw new TeddyError('BAD_RECORD', 'Two records have the same id.', 'Each record needs an id of its own.');
}

function isOfExchange({ type }: KnownRecord): boolean {
  return type === 'tool_use' || type === 'tool_result';
}

function requireExchange(records: readonly KnownRecord[]): 'exchange' {
  const calls = records.filter((record): record is ToolUseRecord => record.type === 'tool_use');
  const results = records.filter((record): record is ToolResultRecord => record.type === 'tool_result');
  const said = records.filter((record) => !isOfExchange(record));
  if (said.length > 1 || (said[0] && (said[0].type !== 'assistant' || records[0] !== said[0])))
    throw toNoExchange('Beside calls and results there may be one text of the assistant, before them.');
  const ids = calls.map((call) => call.tool_call_id);
  const answered = results.map((result) => result.tool_call_id);
  if (new Set(ids).size !== ids.length) throw toNoExchange('Two calls have the same tool_call_id.');
  if (new Set(answered).size !== answered.length) throw toNoExchange('Two results are of the same call.');
  const open = ids.filter((id) => !answered.includes(id));
  if (open.length > 0) throw toNoExchange(`The call ${JSON.stringify(open[0])} has no result.`);
  const orphans = answered.filter((id) => !ids.includes(id));
  if (orphans.length > 0) throw toNoExchange(`The result of ${JSON.stringify(orphans[0])} has no call.`);
  return 'exchange';
}

function toNoExchange(reason: string): TeddyError {
  return new TeddyError('BAD_RECORD', reason, 'Calls are stored with all their results: send them in one list.');
}
