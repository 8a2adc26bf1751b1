/** Groups an import's units into entries: usually one unit each, but many together in a turn with thousands of units. */
import type { KnownRecord } from '../../conversation/records/record.ts';
import { encodeRecord, endsDenied, lastAnswer, versionLimits } from '../../conversation/records/transcript.ts';
import type { ImportUnit } from '../../conversation/logs/importer.ts';
import { toTurnName, type TurnName } from '../../names.ts';

export interface ImportedEntry {
  turn: TurnName;
  /** At least one unit. */
  units: ImportUnit[];
}

export interface ImportedEntries {
  /** Returns the entries that are now complete. */
  push(unit: ImportUnit): ImportedEntry[];
  /** Returns the last entries, after the last unit. */
  end(): ImportedEntry[];
  /** Returns the number of turns up to now. */
  turns(): number;
}

/**
 * Each entry contains its turn's whole transcript up to that point, which teddy hashes and compares as a whole. With an
 * entry for each unit, the time for a turn would grow with the square of its length. So units wait for the next ones
 * when the versions would exceed their limits; an entry then adds about a sixteenth of the existing transcript. Turns
 * with a few hundred units never reach the limits. The answer that ends a turn always has its own entry. The same units
 * always produce the same entries, masked or not: the grouping uses the unmasked units, both for counting entries and
 * for writing them.
 */
export function openEntries(limits = versionLimits): ImportedEntries {
  const turns = openTurns();
  let turn: TurnName | null = null;
  let waiting: ImportUnit[] = [];
  let [length, written] = [0, 0];

  const flush = (): ImportedEntry[] => {
    const units = waiting;
    waiting = [];
    return turn === null || units.length === 0 ? [] : splitAnswer(turn, units);
  };
  return {
    push(unit) {
      const next = turns.add(unit.records);
      const done = next === turn ? [] : flush();
      if (next !== turn) [turn, length, written] = [next, 0, 0];
      waiting.push(unit);
      length += countCharacters(unit.records);
      if (written + length > limits.free + limits.times * length) return done;
      written += length;
      const units = waiting;
      waiting = [];
      return [...done, { turn: next, units }];
    },
    end: flush,
    turns: turns.count,
  };
}

function splitAnswer(turn: TurnName, units: ImportUnit[]): ImportedEntry[] {
  const before = units.slice(0, -1);
  const isAnswer = units.at(-1)?.kind === 'reply' && before.length > 0;
  return isAnswer
    ? [
        { turn, units: before },
        { turn, units: units.slice(-1) },
      ]
    : [{ turn, units }];
}

function countCharacters(records: readonly KnownRecord[]): number {
  return records.reduce((sum, record) => sum + encodeRecord(record).length, 0);
}

/** Assigns each of an import's units to a turn, as if the units had been appended one after another. */
interface ImportedTurns {
  /** Returns the unit's turn: a message opens the next turn, unless the current one waits for an answer. */
  add(records: readonly KnownRecord[]): TurnName;
  count(): number;
}

function openTurns(): ImportedTurns {
  let turns = 0;
  /** The last message and all records since then, without their content, which may be long and is irrelevant here. */
  let since: KnownRecord[] = [];
  const isClosed = () => lastAnswer(since)?.complete === true || endsDenied(since);
  return {
    add(records) {
      const message = records.findLastIndex(({ type }) => type === 'user');
      if (turns === 0 || (message !== -1 && isClosed())) {
        turns += 1;
        since = [];
      }
      const kept = message === -1 ? records : records.slice(message);
      if (message !== -1) since = [];
      since.push(...kept.map(withoutContent));
      return toTurnName(turns);
    },
    count: () => turns,
  };
}

function withoutContent(record: KnownRecord): KnownRecord {
  switch (record.type) {
    case 'tool_use':
      return { ...record, tool_input: null };
    case 'tool_result':
      return { ...record, output: null };
    case 'user':
      return { ...record, message: { role: 'user', content: '' } };
    case 'assistant':
      return { ...record, message: { role: 'assistant', content: '' } };
    case 'assistant_partial':
      return { ...record, message: { role: 'assistant', content: '' } };
    case 'note':
    case 'thinking':
      return { ...record, text: '' };
    case 'plan':
    case 'approval':
      return record;
    default:
      return { ...record, details: {} };
  }
}
