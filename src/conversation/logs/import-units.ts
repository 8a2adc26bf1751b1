/**
 * Groups the records of a foreign log into units, in the order in which they began. An answer stays open while one of its calls
 * waits for a result; what comes in the meantime queues behind it, the user's messages as well, up to a limit.
 */
import type { ImportUnit, UnitUsage } from './importer.ts';
import type { ImportIds, SourcePosition } from '../records/import-ids.ts';
import type { ImportLog } from './import-report.ts';
import {
  countRecords,
  hasRoom,
  isAnswered,
  joinable,
  missingResult,
  thoughtOnly,
  toPartial,
  toUnit,
  unitLimits,
  type Aside,
  type OpenCall,
  type OpenUnit,
  type SpokenRecord,
} from './import-unit.ts';
import type {
  NoteRecord,
  PlanRecord,
  ResultReason,
  ThinkingRecord,
  ToolResultRecord,
  ToolUseRecord,
  UserRecord,
} from '../records/record.ts';

/** A result before it is known which call it belongs to. */
type LooseResult = Omit<ToolResultRecord, 'tool_call_id' | 'type'>;

/** `answer` is what the source calls the answer, null if it does not tell answers apart; `key` is what calls and results share. */
export interface UnitRecords {
  /** `isQueued`: it was typed while the model was at work. */
  message(record: UserRecord, isQueued?: boolean): void;
  say(answer: string | null, record: SpokenRecord): void;
  think(answer: string | null, record: ThinkingRecord): void;
  call(answer: string | null, key: string, record: ToolUseRecord, place: SourcePosition): void;
  result(key: string, record: LooseResult, place: SourcePosition): void;
  /** The answer hands in a plan: the one with the plan's call, else the one with this name, else the next one. */
  plan(answer: string | null, record: PlanRecord, text: string): void;
  /** With `usage`, it stands for itself. */
  aside(record: Aside, usage?: UnitUsage): void;
  /** The user has stopped the answer; the note says so. */
  interrupt(note: NoteRecord | null): void;
  /** The use of the answer, or without a name of the last one. It is counted once, and the last word about it counts. */
  usage(answer: string | null, usage: UnitUsage): void;
}

export interface ImportUnits extends UnitRecords {
  /** There is no more, or nothing more of what has begun. */
  close(): void;
  /** Gives all units up to this one, the first being 0, whatever they wait for. */
  closeThrough(unit: number): void;
  /** The units that are whole. */
  take(): ImportUnit[];
  /** Records that are held back. */
  heldRecords(): number;
  /** How many units have begun. */
  begun(): number;
  /** Whether the answer can still grow. */
  hasAnswer(answer: string): boolean;
  /** Whether a call waits for this result; without a key, whether any call waits. */
  waitsFor(key?: string): boolean;
}

/**
 * `follows`: the log is read while it is written. Then a note without a neighbour is a unit at once, and a result whose call does not
 * wait any more becomes a note.
 */
export function openUnits(log: ImportLog, ids: ImportIds, { follows = false, begun = 0 } = {}): ImportUnits {
  let ready: ImportUnit[] = [];
  let queue: OpenUnit[] = [];
  let asides: Aside[] = [];
  const waiting = new Map<string, OpenCall[]>();
  let messages = 0;

  const takeAsides = (): Aside[] => asides.splice(0);

  const release = (unit: OpenUnit, reason?: ResultReason): void => {
    for (const call of unit.calls) {
      if (call.result !== null) continue;
      call.result = missingResult(call, ids, reason);
      log.repair(call.place.line, `call ${shown(call.key)} has no result: it got one that says so`);
      stopWaiting(waiting, call);
    }
    ready.push(toUnit(unit));
  };

  const settle = (): void => {
    while (queue.length > unitLimits.queuedUnits || (queue[0]?.isPassed && isAnswered(queue[0])))
      release(queue.shift() as OpenUnit);
  };

  const begin = (answer: string | null, content: Partial<OpenUnit> = {}): OpenUnit => {
    for (const unit of queue) unit.isPassed = true;
    const unit = { ...emptyUnit(), answer, before: takeAsides(), ...content };
    queue.push(unit);
    begun += 1;
    settle();
    return unit;
  };

  const closeAll = (reason?: ResultReason): void => {
    for (const unit of queue) release(unit, reason);
    queue = [];
  };

  const growing = (answer: string): OpenUnit | undefined =>
    queue.find((unit) => unit.answer === answer && hasRoom(unit));

  const addAside = (record: Aside): void => {
    const unit = queue.at(-1);
    if (unit?.plan === null && unit.after.length < unitLimits.asides) return void unit.after.push(record);
    if (follows) return void begin(null, { after: [record], isPassed: true });
    if (!unit && asides.length < unitLimits.asides) return void asides.push(record);
    begin(null).after.push(record);
  };

  return {
    message: (record, isQueued = false) => {
      messages += 1;
      begin(null, { message: record, isQueued, isPassed: true });
    },
    say: (answer, record) => {
      const known = answer === null ? thoughtOnly(queue.at(-1)) : growing(answer);
      (known ?? begin(answer)).texts.push(record);
    },
    think: (answer, record) => {
      const known = answer === null ? joinable(queue.at(-1)) : growing(answer);
      (known ?? begin(answer)).texts.push(record);
    },
    call: (answer, key, record, place) => {
      const known = answer === null ? joinable(queue.at(-1)) : growing(answer);
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
      if (call === undefined) {
        log.skip(place.line, `a result of call ${shown(key)}, which waits for none`);
        return follows ? addAside({ type: 'note', id, timestamp, text: toLateNote(key, output) }) : undefined;
      }
      stopWaiting(waiting, call);
      const given = reason === undefined ? {} : { reason };
      const { tool_call_id } = call.use;
      call.result = { type: 'tool_result', id, timestamp, tool_call_id, output, is_error, ...given };
      settle();
    },
    plan: (answer, record, text) => {
      if (!follows) return;
      const key = record.tool_call_id;
      const named = answer === null ? thoughtOnly(queue.at(-1)) : growing(answer);
      const own = queue.find(({ calls }) => calls.some((call) => call.key === key)) ?? named;
      const before = queue.slice(0, own === undefined ? queue.length : queue.indexOf(own));
      for (const unit of before) unit.isPassed = true;
      // It is no unit that a line of the log could follow, and is not counted.
      queue.splice(before.length, 0, { ...emptyUnit(), plan: { record, text }, isPassed: true });
      settle();
    },
    aside: (record, usage) =>
      usage === undefined ? addAside(record) : void begin(null, { after: [record], isPassed: true, usage }),
    interrupt: (note) => {
      const unit = queue.at(-1);
      const said = unit?.calls.length === 0 ? unit.texts.at(-1) : undefined;
      if (unit && said && said.type !== 'thinking') unit.texts.splice(-1, 1, toPartial(said));
      if (note !== null) addAside(note);
      closeAll('aborted');
    },
    usage: (answer, usage) => {
      const isAnswer = (unit: OpenUnit) => unit.message === null && unit.plan === null;
      const open = queue.filter((unit) => isAnswer(unit) && (answer === null || unit.answer === answer));
      const counted = open.find((unit) => Object.keys(unit.usage).length > 0);
      const unit = answer === null ? open.at(-1) : (counted ?? open.at(-1));
      if (unit === undefined || (unit !== counted && answer !== null && !ids.isNew('usage', answer))) return;
      unit.usage = usage;
    },
    close: () => {
      if (asides.length > 0) begin(null);
      closeAll();
    },
    closeThrough: (unit) => {
      const first = () => begun - queue.filter(({ plan }) => plan === null).length;
      while (queue.length > 0 && first() <= unit) release(queue.shift() as OpenUnit);
    },
    take: () => {
      const units = ready;
      ready = [];
      return units;
    },
    heldRecords: () => asides.length + queue.reduce((sum, unit) => sum + countRecords(unit), 0),
    begun: () => begun,
    hasAnswer: (answer) => growing(answer) !== undefined,
    waitsFor: (key) => (key === undefined ? waiting.size > 0 : waiting.has(key)),
  };
}

function emptyUnit(): OpenUnit {
  const records = { before: [], message: null, plan: null, texts: [], calls: [], after: [] };
  // With the spread in front, V8 keeps every unit until its next full collection.
  return { answer: null, isQueued: false, usage: {}, isPassed: false, ...records };
}

/** The first of those since the same message: where ids are used again, earlier ones have been given up. */
function chooseCall(waiting: readonly OpenCall[]): OpenCall | undefined {
  return waiting.find(({ messages }) => messages === waiting.at(-1)?.messages);
}

/** Some sources number their calls anew in every answer. */
function withOwnCallId(record: ToolUseRecord, place: SourcePosition, ids: ImportIds, log: ImportLog): ToolUseRecord {
  const { tool_call_id: callId } = record;
  if (callId !== '' && ids.isNew('call', callId)) return record;
  if (callId !== '') log.repair(place.line, `call ${shown(callId)} has the id of an earlier one: it got another`);
  return { ...record, tool_call_id: ids.idFor(place) };
}

function toLateNote(key: string, output: unknown): string {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return `A result of the call ${shown(key)} came when nothing waited for it:\n\n${text}`;
}

function stopWaiting(waiting: Map<string, OpenCall[]>, call: OpenCall): void {
  const calls = waiting.get(call.key) ?? [];
  calls.splice(calls.indexOf(call), 1);
  if (calls.length === 0) waiting.delete(call.key);
}

function shown(key: string): string {
  return key.length > 60 ? `${key.slice(0, 60)}...` : key;
}
