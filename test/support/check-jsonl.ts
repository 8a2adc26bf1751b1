/** The rules for intact records, one per line. */
import { isObject, toList } from './check-values.ts';
import { parseJson } from '../../src/session/text/parse-object.ts';

type Fields = Record<string, unknown>;

interface Walk {
  /** Calls whose results have to come before any other record. */
  open: Set<string>;
  callIds: Set<string>;
  ids: Set<string>;
  /** The last record's type. */
  lastType: unknown;
}

/** Records that cut nothing, and may come anywhere. */
const silent = new Set<unknown>(['voice_interrupted', 'orchestrator_meta', 'note', 'thinking', 'plan', 'approval']);

/** One sentence for each violation. */
export function checkJsonl(text: unknown): string[] {
  if (typeof text !== 'string') return ['The records are not a text.'];
  if (text === '') return [];
  const walk: Walk = { open: new Set(), callIds: new Set(), ids: new Set(), lastType: null };
  const lines = text.split('\n');
  const end = lines.pop() === '' ? [] : ['The end: the last line is not complete.'];
  const faults = lines.flatMap((line, index) => checkLine(walk, line).map((fault) => `Line ${index + 1}: ${fault}`));
  return [...faults, ...[...walk.open].map((id) => `The end: the call ${id} has no result.`), ...end];
}

function checkLine(walk: Walk, line: string): string[] {
  const record = parseJson(line);
  if (!isObject(record)) return ['it is not the JSON of an object.'];
  const { id, timestamp, type } = record;
  const isTaken = walk.ids.has(String(id));
  walk.ids.add(String(id));
  const faults = [
    ...toList(
      (typeof id !== 'string' || id === '') && 'it has no id.',
      isTaken && `another record has the id ${String(id)}.`,
      typeof timestamp !== 'string' && 'it has no timestamp.',
    ),
    ...checkRecord(walk, type, record),
  ];
  if (!silent.has(type)) walk.lastType = type;
  return faults;
}

function checkRecord(walk: Walk, type: unknown, record: Fields): string[] {
  if (silent.has(type)) return [];
  if (type === 'tool_use') return checkCall(walk, record);
  if (type === 'tool_result') return checkResult(walk, record);
  if (type === 'user') return checkSaid(walk, 'user', record);
  if (type === 'assistant' || type === 'assistant_partial') return checkSaid(walk, 'assistant', record);
  return [`records of type ${String(type)} are not known.`];
}

function checkSaid(walk: Walk, role: string, { message, source }: Fields): string[] {
  const open = [...walk.open].map((id) => `the call ${id} has no result before it.`);
  walk.open.clear();
  if (!isObject(message)) return [...open, 'it has no message.'];
  const { content } = message;
  return [
    ...open,
    ...toList(
      message['role'] !== role && `the role of its message is not ${role}.`,
      (typeof content !== 'string' || content.trim() === '') && 'its content is no text, or empty.',
      typeof source !== 'string' && 'it has no source.',
    ),
  ];
}

function checkCall(walk: Walk, { tool_call_id: id, tool_name: name, tool_input: input }: Fields): string[] {
  const isId = typeof id === 'string';
  const isTaken = isId && walk.callIds.has(id);
  const isBetween = walk.lastType === 'tool_result' && walk.open.size > 0;
  if (isId) walk.callIds.add(id);
  if (isId) walk.open.add(id);
  return toList(
    !isId && 'it has no tool_call_id.',
    isTaken && `another call has the id ${String(id)}.`,
    isBetween && 'it stands between calls and their results.',
    typeof name !== 'string' && 'it has no tool_name.',
    !isObject(input) && 'its tool_input is not an object.',
  );
}

function checkResult(walk: Walk, { tool_call_id: id, is_error: isError }: Fields): string[] {
  const isOpen = typeof id === 'string' && walk.open.delete(id);
  return toList(
    !isOpen && 'it answers no call before it that still waits.',
    typeof isError !== 'boolean' && 'its is_error is not true or false.',
  );
}
