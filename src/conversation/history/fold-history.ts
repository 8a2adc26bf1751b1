/** Turns the records in a session's turns into one history. Never throws; equal records produce equal histories. */
import { endCalls, openCalls, placeCall, placeResult, type Calls } from './fold-calls.ts';
import { addAnswer, addSaid, endStep, interruptAnswer, openSteps, type Steps } from './fold-steps.ts';
import type { History } from './history.ts';
import type {
  AssistantRecord,
  KnownRecord,
  PartialRecord,
  ToolResultRecord,
  ToolUseRecord,
  TranscriptRecord,
  UserRecord,
} from '../records/record.ts';
import { isBlank } from '../records/blank.ts';
import { openUniqueIds, type UniqueIds } from '../records/unique-ids.ts';
import { openRepairs, showId, type RepairList } from './repairs.ts';
import type { Transcript } from '../records/transcript.ts';
import { countLoneSurrogates } from '../records/well-formed.ts';

/** One turn's log. Records that refer to a file already contain the file's content. */
export interface TurnRecords {
  turn: string;
  transcript: Transcript;
}

type SaidRecord = UserRecord | AssistantRecord | PartialRecord;
type KeptRecord = SaidRecord | ToolUseRecord | ToolResultRecord;

interface Fold {
  /** The current record's turn. */
  turn: string;
  steps: Steps;
  calls: Calls;
  repairs: RepairList;
  recordIds: UniqueIds;
  /** Records by ID. */
  seen: Map<string, KeptRecord>;
}

/**
 * Never throws, however a log is cut off or damaged. The history has everything that the user and the assistant said;
 * `repairs` lists everything that was dropped or changed. Does not change the records themselves.
 */
export function toHistory(turns: Iterable<TurnRecords>): History {
  const fold = openFold();
  for (const { turn, transcript } of turns) {
    fold.turn = turn;
    fold.repairs.addLines(turn, transcript);
    for (const [index, record] of transcript.records.entries()) addRecord(fold, record, index + 1);
  }
  endStep(fold.steps);
  endCalls(fold.calls, fold.recordIds);
  return { turns: fold.steps.turns, repairs: [...toOpening(fold.steps), ...fold.repairs.all()] };
}

function openFold(): Fold {
  const repairs = openRepairs();
  const steps = openSteps((block, why) => {
    const rest = why === 'again' ? 'occurs twice: the second one' : 'was repeated from its beginning: the first one';
    repairs.add('duplicate-record', fold.turn, `The answer ${showId(block.id)} ${rest} was left out.`);
  });
  const calls = openCalls(steps, repairs);
  const fold: Fold = { turn: '', steps, calls, repairs, recordIds: openUniqueIds(), seen: new Map() };
  return fold;
}

function toOpening({ turns }: Steps): History['repairs'] {
  const [first] = turns;
  if (first === undefined || first.said.length > 0) return [];
  const text = 'The conversation begins with the assistant: models are shown an opening message from the user.';
  return [{ kind: 'opening-added', text }];
}

/** A record without words or calls does not interrupt an answer. */
function addRecord(fold: Fold, record: TranscriptRecord, place: number): void {
  if (record.type === 'voice_interrupted') interruptAnswer(fold.steps);
  if (!isKept(record) || isLeftOut(fold, record)) return;
  reportSurrogates(fold, record);
  const id = toUniqueId(fold, record, place);
  if (record.type === 'tool_use') placeCall(fold.calls, fold.turn, record, id);
  else if (record.type === 'tool_result') placeResult(fold.calls, fold.turn, record, id);
  else addText(fold, record, id);
}

function addText(fold: Fold, record: SaidRecord, id: string): void {
  const { timestamp, source } = record;
  const text = textOf(record);
  if (record.type === 'user') addSaid(fold.steps, { id, timestamp, text, source });
  else addAnswer(fold.steps, { id, timestamp, text, isInterrupted: record.type === 'assistant_partial', source });
}

function isKept(record: TranscriptRecord): record is KeptRecord {
  const { type } = record;
  if (type === 'tool_use' || type === 'tool_result') return true;
  return type === 'user' || type === 'assistant' || type === 'assistant_partial';
}

function isLeftOut(fold: Fold, record: KeptRecord): boolean {
  if (isSaid(record) && isBlank(textOf(record))) {
    const who = record.type === 'user' ? 'user message' : 'assistant text';
    fold.repairs.add('empty-text', fold.turn, `The ${who} ${showId(record.id)} is empty and was left out.`);
    return true;
  }
  const before = fold.seen.get(record.id);
  if (before === undefined || !saysTheSame(before, record)) return false;
  const text = `The record ${showId(record.id)} occurs twice: the second one was left out.`;
  fold.repairs.add('duplicate-record', fold.turn, text);
  return true;
}

/** Ignores the time of the repeated record. */
function saysTheSame(one: KnownRecord, other: KnownRecord): boolean {
  return JSON.stringify({ ...one, timestamp: '' }) === JSON.stringify({ ...other, timestamp: '' });
}

/** Gives a record without an ID one that is the same each time the log is read. */
function toUniqueId(fold: Fold, record: KeptRecord, place: number): string {
  if (record.id === '') return fold.recordIds.take(`${fold.turn}-record-${place}`);
  if (!fold.seen.has(record.id)) fold.seen.set(record.id, record);
  const id = fold.recordIds.take(record.id);
  if (id === record.id) return id;
  const text = `Another record has the id ${showId(record.id)}, and says something else: this one was renamed to ${showId(id)}.`;
  fold.repairs.add('duplicate-record', fold.turn, text);
  return id;
}

function reportSurrogates(fold: Fold, record: KeptRecord): void {
  const value = isSaid(record) ? textOf(record) : record.type === 'tool_use' ? record.tool_input : record.output;
  const count = countLoneSurrogates(value);
  if (count === 0) return;
  const text = `The record ${showId(record.id)} contains half characters (${count}): models are shown U+FFFD in their place.`;
  fold.repairs.add('lone-surrogate', fold.turn, text);
}

function isSaid(record: KeptRecord): record is SaidRecord {
  return record.type !== 'tool_use' && record.type !== 'tool_result';
}

/** If a file's content was not filled in, at least names the file. */
function textOf({ message }: SaidRecord): string {
  return 'file' in message ? `[${message.file}]` : message.content;
}
