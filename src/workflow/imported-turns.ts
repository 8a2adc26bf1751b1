/** In which turn each unit of an import goes, as if one had been appended after the other. */
import type { KnownRecord } from '../conversation/record.ts';
import { encodeRecord } from '../conversation/transcript.ts';
import { toTurnName, type TurnName } from '../session/names.ts';

export interface ImportedTurns {
  /** The turn that the unit goes to: a message opens the next one, unless one waits for an answer. */
  add(records: readonly KnownRecord[]): TurnName;
  count(): number;
  entries(): number;
}

export function openTurns(): ImportedTurns {
  let turns = 0;
  let entries = 0;
  let isAnswered = true;
  return {
    add(records) {
      entries += 1;
      const opens = records.some(({ type }) => type === 'user') && isAnswered;
      if (turns === 0 || opens) turns += 1;
      for (const { type } of records) isAnswered = isAnsweredAfter(type, isAnswered);
      return toTurnName(turns);
    },
    count: () => turns,
    entries: () => entries,
  };
}

/** A turn is answered by a text that no call follows. */
function isAnsweredAfter(type: KnownRecord['type'], before: boolean): boolean {
  if (type === 'user' || type === 'tool_use') return false;
  return type === 'assistant' || before;
}

/** The transcript of the latest turn, as it grows. */
export interface GrowingTranscript {
  /** All that the turn has by then; later records change nothing of it. */
  add(turn: TurnName, records: readonly KnownRecord[]): Uint8Array;
}

export function openTranscript(): GrowingTranscript {
  const encoder = new TextEncoder();
  let current: TurnName | null = null;
  let bytes = new Uint8Array(0);
  let length = 0;
  return {
    add(turn, records) {
      if (turn !== current) {
        bytes = new Uint8Array(0);
        length = 0;
      }
      current = turn;
      const added = encoder.encode(records.map(encodeRecord).join(''));
      if (length + added.length > bytes.length) {
        const larger = new Uint8Array(2 * (length + added.length));
        larger.set(bytes.subarray(0, length));
        bytes = larger;
      }
      bytes.set(added, length);
      length += added.length;
      return bytes.subarray(0, length);
    },
  };
}
