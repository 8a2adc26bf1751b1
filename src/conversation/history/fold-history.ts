/** The records of a session's turns as one history: total, and the same for the same records. */
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

/** The log of one turn. A record that stands for a file holds its content already. */
export interface TurnRecords {
  turn: string;
  transcript: Transcript;
}

type SaidRecord = UserRecord | AssistantRecord | PartialRecord;
type KeptRecord = SaidRecord | ToolUseRecord | ToolResultRecord;

interface Fold {
  /** The turn of the record that is being folded. */
  turn: string;
  steps: Steps;
  calls: Calls;
  repairs: RepairList;
  recordIds: UniqueIds;
  /** By the id that they have. */
  seen: Map<string, KeptRecord>;
}

/**
 * Never throws, for no prefix and no damage of any log. What a user or the assistant said is all there; what could not be
 * kept, or not as it was, is in `repairs`. The records themselves are not changed.
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
    const rest =
      why === 'again' ? 'is there twice: the second one' : 'was given again, from its beginning: the first one';
    repairs.add('duplicate-record', fold.turn, `The answer ${showId(block.id)} ${rest} was left out.`);
  });
  const calls = openCalls(steps, repairs);
  const fold: Fold = { turn: '', steps, calls, repairs, recordIds: openUniqueIds(), seen: new Map() };
  return fold;
}

function toOpening({ turns }: Steps): History['repairs'] {
  const [first] = turns;
  if (first === undefined || first.said.length > 0) return [];
  const text = 'The conversation begins with the assistant: a model is shown an opening message of the user.';
  return [{ kind: 'opening-added', text }];
}

/** A record that neither says nor calls anything cuts nothing. */
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
    const who = record.type === 'user' ? 'message of the user' : 'text of the assistant';
    fold.repairs.add('empty-text', fold.turn, `The ${who} ${showId(record.id)} is empty: it was left out.`);
    return true;
  }
  const before = fold.seen.get(record.id);
  if (before === undefined || !saysTheSame(before, record)) return false;
  const text = `The record ${showId(record.id)} is there twice: the second one was left out.`;
  fold.repairs.add('duplicate-record', fold.turn, text);
  return true;
}

/** When it was said again makes no difference. */
function saysTheSame(one: KnownRecord, other: KnownRecord): boolean {
  return JSON.stringify({ ...one, timestamp: '' }) === JSON.stringify({ ...other, timestamp: '' });
}

/** A record without an id has the same one each time the log is read. */
function toUniqueId(fold: Fold, record: KeptRecord, place: number): string {
  if (record.id === '') return fold.recordIds.take(`${fold.turn}-record-${place}`);
  if (!fold.seen.has(record.id)) fold.seen.set(record.id, record);
  const id = fold.recordIds.take(record.id);
  if (id === record.id) return id;
  const text = `Another record has the id ${showId(record.id)}, and says something else: this one has become ${showId(id)}.`;
  fold.repairs.add('duplicate-record', fold.turn, text);
  return id;
}

function reportSurrogates(fold: Fold, record: KeptRecord): void {
  const value = isSaid(record) ? textOf(record) : record.type === 'tool_use' ? record.tool_input : record.output;
  const count = countLoneSurrogates(value);
  if (count === 0) return;
  const text = `The record ${showId(record.id)} holds half characters (${count}): a model is shown U+FFFD in their place.`;
  fold.repairs.add('lone-surrogate', fold.turn, text);
}

function isSaid(record: KeptRecord): record is SaidRecord {
  return record.type !== 'tool_use' && record.type !== 'tool_result';
}

/** A file whose content nobody has put in is at least named. */
function textOf({ message }: SaidRecord): string {
  return 'file' in message ? `[${message.file}]` : message.content;
}
