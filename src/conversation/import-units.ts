/**
 * Groups the records of a foreign log into units, in the order in which they began. An answer stays open while one of its calls
 * waits for a result; what comes in the meantime queues behind it, the user's messages as well, up to a limit.
 */
import type { ImportUnit } from './importer.ts';
import type { ImportIds, SourcePosition } from './import-ids.ts';
import type { ImportLog } from './import-report.ts';
import {
  abortedOutput,
  type AssistantRecord,
  type InterruptedRecord,
  type MetaRecord,
  type NoteRecord,
  type PartialRecord,
  type ResultReason,
  type ToolResultRecord,
  type ToolUseRecord,
  type UserRecord,
} from './record.ts';

/** These records stand next to the words. */
type Aside = NoteRecord | MetaRecord | InterruptedRecord;
type SpokenRecord = AssistantRecord | PartialRecord;
/** A result before it is known which call it belongs to. */
type LooseResult = Omit<ToolResultRecord, 'tool_call_id' | 'type'>;

/** `answer` is what the source calls the answer, null if it does not tell answers apart; `key` is what calls and results share. */
export interface ImportUnits {
  message(record: UserRecord): void;
  say(answer: string | null, record: SpokenRecord): void;
  call(answer: string | null, key: string, record: ToolUseRecord, place: SourcePosition): void;
  result(key: string, record: LooseResult, place: SourcePosition): void;
  aside(record: Aside): void;
  /** The user has stopped the answer. */
  interrupt(): void;
  /** There is no more. */
  close(): void;
  /** The units that are whole. */
  take(): ImportUnit[];
  /** Records that are held back. */
  heldRecords(): number;
}

interface OpenCall {
  key: string;
  use: ToolUseRecord;
  place: SourcePosition;
  result: ToolResultRecord | null;
  /** How many messages came before it. */
  messages: number;
}

interface OpenUnit {
  answer: string | null;
  before: Aside[];
  /** The user record of a message; its unit says nothing else. */
  message: UserRecord | null;
  texts: SpokenRecord[];
  calls: OpenCall[];
  after: Aside[];
  /** Something else has begun since. */
  isPassed: boolean;
}

export const unitLimits = { queuedUnits: 32, unitRecords: 256, asides: 64 };

const noResultOutput = 'The source of this conversation holds no result of this call';

export function openUnits(log: ImportLog, ids: ImportIds): ImportUnits {
  let ready: ImportUnit[] = [];
  let queue: OpenUnit[] = [];
  let asides: Aside[] = [];
  const waiting = new Map<string, OpenCall[]>();
  let messages = 0;

  const give = (unit: ImportUnit): void => void ready.push(unit);
  const takeAsides = (): Aside[] => asides.splice(0);

  const release = (unit: OpenUnit, reason?: ResultReason): void => {
    for (const call of unit.calls) {
      if (call.result !== null) continue;
      call.result = missingResult(call, ids, reason);
      log.repair(call.place.line, `call ${shown(call.key)} has no result: it got one that says so`);
      stopWaiting(waiting, call);
    }
    give(toUnit(unit));
  };

  const settle = (): void => {
    while (queue.length > unitLimits.queuedUnits || (queue[0]?.isPassed && isAnswered(queue[0])))
      release(queue.shift() as OpenUnit);
  };

  const begin = (answer: string | null, message: UserRecord | null = null): OpenUnit => {
    for (const unit of queue) unit.isPassed = true;
    const isPassed = message !== null;
    const unit = { answer, before: takeAsides(), message, texts: [], calls: [], after: [], isPassed };
    queue.push(unit);
    settle();
    return unit;
  };

  const closeAll = (reason?: ResultReason): void => {
    for (const unit of queue) release(unit, reason);
    queue = [];
  };

  return {
    message: (record) => {
      messages += 1;
      begin(null, record);
    },
    say: (answer, record) => {
      const known = answer === null ? undefined : queue.find((unit) => unit.answer === answer && hasRoom(unit));
      (known ?? begin(answer)).texts.push(record);
    },
    call: (answer, key, record, place) => {
      const known = answer === null ? joinable(queue.at(-1)) : queue.find((u) => u.answer === answer && hasRoom(u));
      if (answer !== null && known?.calls.some((call) => call.key === key))
        return log.skip(place.line, `call ${shown(key)} stands there twice`);
      const use = withOwnCallId(record, place, ids, log);
      const call: OpenCall = { key, use, place, result: null, messages };
      (known ?? begin(answer)).calls.push(call);
      waiting
        .set(key, waiting.get(key) ?? [])
        .get(key)
        ?.push(call);
    },
    result: (key, { id, timestamp, output, is_error, reason }, place) => {
      const call = chooseCall(waiting.get(key) ?? []);
      if (call === undefined) return log.skip(place.line, `a result of call ${shown(key)}, which waits for none`);
      stopWaiting(waiting, call);
      const given = reason === undefined ? {} : { reason };
      const { tool_call_id } = call.use;
      call.result = { type: 'tool_result', id, timestamp, tool_call_id, output, is_error, ...given };
      settle();
    },
    aside: (record) => {
      const unit = queue.at(-1);
      if (unit && unit.after.length < unitLimits.asides) return void unit.after.push(record);
      if (!unit && asides.length < unitLimits.asides) return void asides.push(record);
      begin(null).after.push(record);
    },
    interrupt: () => {
      const unit = queue.at(-1);
      const said = unit?.calls.length === 0 ? unit.texts.at(-1) : undefined;
      if (unit && said) unit.texts.splice(-1, 1, toPartial(said));
      closeAll('aborted');
    },
    close: () => {
      closeAll();
      if (asides.length > 0) give({ kind: 'reply', records: takeAsides() });
    },
    take: () => {
      const units = ready;
      ready = [];
      return units;
    },
    heldRecords: () => asides.length + queue.reduce((sum, unit) => sum + countRecords(unit), 0),
  };
}

/** The first of those since the same message: where ids are used again, earlier ones have been given up. */
function chooseCall(waiting: readonly OpenCall[]): OpenCall | undefined {
  return waiting.find(({ messages }) => messages === waiting.at(-1)?.messages);
}

function isAnswered(unit: OpenUnit): boolean {
  return unit.calls.every((call) => call.result !== null);
}

function hasRoom(unit: OpenUnit): boolean {
  return unit.texts.length + unit.calls.length < unitLimits.unitRecords;
}

/** Without names for answers, a call belongs to the text or the calls before it, until a result has come. */
function joinable(unit: OpenUnit | undefined): OpenUnit | undefined {
  if (!unit || unit.answer !== null || !hasRoom(unit)) return undefined;
  if (unit.texts.length + unit.calls.length === 0 || unit.texts.at(-1)?.type === 'assistant_partial') return undefined;
  return unit.calls.some((call) => call.result !== null) ? undefined : unit;
}

function countRecords(unit: OpenUnit): number {
  const said = (unit.message === null ? 0 : 1) + unit.texts.length + 2 * unit.calls.length;
  return unit.before.length + said + unit.after.length;
}

function toUnit({ before, message, texts, calls, after }: OpenUnit): ImportUnit {
  if (message !== null) return { kind: 'message', records: [...before, message, ...after] };
  const uses = calls.map((call) => call.use);
  const results = calls.flatMap((call) => call.result ?? []);
  const kind = calls.length > 0 ? 'exchange' : 'reply';
  return { kind, records: [...before, ...oneText(texts), ...uses, ...results, ...after] };
}

/** The texts of one answer are one record, under the first one's id. */
function oneText(texts: readonly SpokenRecord[]): SpokenRecord[] {
  const [first] = texts;
  if (!first || texts.length === 1) return [...texts];
  const said = texts.map(({ message }) => ('content' in message ? message.content : '')).join('\n\n');
  const whole: AssistantRecord = { ...first, type: 'assistant', message: { role: 'assistant', content: said } };
  return [texts.at(-1)?.type === 'assistant_partial' ? toPartial(whole) : whole];
}

function toPartial(record: SpokenRecord): PartialRecord {
  const content = 'content' in record.message ? record.message.content : '';
  return { ...record, type: 'assistant_partial', message: { role: 'assistant', content } };
}

/** Some sources number their calls anew in every answer. */
function withOwnCallId(record: ToolUseRecord, place: SourcePosition, ids: ImportIds, log: ImportLog): ToolUseRecord {
  const { tool_call_id: callId } = record;
  if (callId !== '' && ids.isNew(`call ${callId}`)) return record;
  if (callId !== '') log.repair(place.line, `call ${shown(callId)} has the id of an earlier one: it got another`);
  return { ...record, tool_call_id: ids.idFor(place) };
}

function missingResult(call: OpenCall, ids: ImportIds, reason?: ResultReason): ToolResultRecord {
  const { timestamp, tool_call_id } = call.use;
  const output = reason === 'aborted' ? abortedOutput : noResultOutput;
  const base = { type: 'tool_result' as const, id: ids.idFor(call.place), timestamp, tool_call_id, output };
  return { ...base, is_error: true, ...(reason === undefined ? {} : { reason }) };
}

function stopWaiting(waiting: Map<string, OpenCall[]>, call: OpenCall): void {
  const calls = waiting.get(call.key) ?? [];
  calls.splice(calls.indexOf(call), 1);
  if (calls.length === 0) waiting.delete(call.key);
}

function shown(key: string): string {
  return key.length > 60 ? `${key.slice(0, 60)}...` : key;
}
