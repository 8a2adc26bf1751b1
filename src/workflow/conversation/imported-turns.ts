/** In which turn each unit of an import goes, as if one had been appended after the other. */
import type { KnownRecord } from '../../conversation/record.ts';
import { endsDenied, lastAnswer } from '../../conversation/transcript.ts';
import { toTurnName, type TurnName } from '../../names.ts';

export interface ImportedTurns {
  /** The turn that the unit goes to: a message opens the next one, unless one waits for an answer. */
  add(records: readonly KnownRecord[]): TurnName;
  count(): number;
}

export function openTurns(): ImportedTurns {
  let turns = 0;
  /** The last message and what came since, without what was said: it may be long, and nothing is decided by it. */
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
