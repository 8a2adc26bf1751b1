/**
 * Groups a foreign log's records into units, in the order in which they began. An answer stays open while one of its
 * calls waits for a result; everything after it, including user messages, queues up behind it, up to a limit.
 */
import type { ImportUnit, UnitUsage } from './importer.ts';
import type { ImportIds, SourcePosition } from '../records/import-ids.ts';
import type { ImportLog } from './import-report.ts';
import {
  chooseCall,
  countRecords,
  emptyUnit,
  hasRoom,
  isAnswered,
  joinable,
  missingResult,
  shown,
  thoughtOnly,
  toLateNote,
  toPartial,
  toUnit,
  unitLimits,
  withOwnCallId,
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

/** A result whose call is not known yet. */
type LooseResult = Omit<ToolResultRecord, 'tool_call_id' | 'type'>;

/** `answer` is the source's name for the answer, or null if it does not separate answers; calls and results share a `key`. */
export interface UnitRecords {
  /** `isQueued`: the user typed the message while the model was working. */
  message(record: UserRecord, isQueued?: boolean): void;
  say(answer: string | null, record: SpokenRecord): void;
  think(answer: string | null, record: ThinkingRecord): void;
  call(answer: string | null, key: string, record: ToolUseRecord, place: SourcePosition): void;
  result(key: string, record: LooseResult, place: SourcePosition): void;
  /** Adds the plan that an answer (the one with the plan's call, or with this name, or the next one) submits. */
  plan(answer: string | null, record: PlanRecord, text: string, by?: UnitUsage): void;
  /** With `usage`, the record becomes a separate unit. */
  aside(record: Aside, usage?: UnitUsage): void;
  /** Marks the answer as stopped by the user, according to the note. */
  interrupt(note: NoteRecord | null): void;
  /** Sets the usage of the answer; null means the last answer. Usage counts once, with its latest value. */
  usage(answer: string | null, usage: UnitUsage): void;
}

export interface ImportUnits extends UnitRecords {
  /** Ends the log, or at least everything that has begun. */
  close(): void;
  /** Completes all units up to this one (the first is 0), even units that still wait. */
  closeThrough(unit: number): void;
  /** Takes the complete units. */
  take(): ImportUnit[];
  /** Returns the number of buffered records. */
  heldRecords(): number;
  /** Returns the number of units that have begun. */
  begun(): number;
  /** Returns true if the answer can still grow. */
  hasAnswer(answer: string): boolean;
  /** Returns true if a call is waiting for this result; without a key, returns true if any call is waiting. */
  waitsFor(key?: string): boolean;
}

/** The units that have begun but not been taken. */
interface Units {
  log: ImportLog;
  ids: ImportIds;
  follows: boolean;
  begun: number;
  /** The complete units. */
  ready: ImportUnit[];
  queue: OpenUnit[];
  /** Notes before the first unit. */
  asides: Aside[];
  /** Calls without a result, by their key. */
  waiting: Map<string, OpenCall[]>;
  messages: number;
}

/**
 * `follows` is true when teddy reads the log while the agent writes it. A note without a neighbor then becomes a unit
 * immediately, and a result whose call no longer waits becomes a note.
 */
export function openUnits(log: ImportLog, ids: ImportIds, { follows = false, begun = 0 } = {}): ImportUnits {
  const units: Units = { log, ids, follows, begun, ready: [], queue: [], asides: [], waiting: new Map(), messages: 0 };
  return {
    message: (record, isQueued = false) => {
      units.messages += 1;
      begin(units, null, { message: record, isQueued, isPassed: true });
    },
    say: (answer, record) => (ofText(units, answer) ?? begin(units, answer)).texts.push(record),
    think: (answer, record) => (ofCall(units, answer) ?? begin(units, answer)).texts.push(record),
    call: (answer, key, use, place) => addCall(units, answer, { key, use, place }),
    result: (key, result, place) => addResult(units, key, result, place),
    plan: (answer, record, text, by) => addPlan(units, answer, { record, text }, by),
    aside: (record, usage) =>
      usage === undefined
        ? addAside(units, record)
        : void begin(units, null, { after: [record], isPassed: true, usage }),
    interrupt: (note) => {
      const unit = units.queue.at(-1);
      const said = unit?.calls.length === 0 ? unit.texts.at(-1) : undefined;
      if (unit && said && said.type !== 'thinking') unit.texts.splice(-1, 1, toPartial(said));
      if (note !== null) addAside(units, note);
      closeAll(units, 'aborted');
    },
    usage: (answer, usage) => addUsage(units, answer, usage),
    close: () => {
      if (units.asides.length > 0) begin(units, null);
      closeAll(units);
    },
    closeThrough: (unit) => {
      const { queue } = units;
      const first = () => units.begun - queue.filter(({ plan }) => plan === null).length;
      while (queue.length > 0 && first() <= unit) release(units, queue.shift() as OpenUnit);
    },
    take: () => {
      const { ready } = units;
      units.ready = [];
      return ready;
    },
    heldRecords: () => units.asides.length + units.queue.reduce((sum, unit) => sum + countRecords(unit), 0),
    begun: () => units.begun,
    hasAnswer: (answer) => growing(units, answer) !== undefined,
    waitsFor: (key) => (key === undefined ? units.waiting.size > 0 : units.waiting.has(key)),
  };
}

function begin(units: Units, answer: string | null, content: Partial<OpenUnit> = {}): OpenUnit {
  for (const unit of units.queue) unit.isPassed = true;
  const unit = { ...emptyUnit(), answer, before: units.asides.splice(0), ...content };
  units.queue.push(unit);
  units.begun += 1;
  settle(units);
  return unit;
}

function settle(units: Units): void {
  const { queue } = units;
  while (queue.length > unitLimits.queuedUnits || (queue[0]?.isPassed && isAnswered(queue[0])))
    release(units, queue.shift() as OpenUnit);
}

function release({ ids, log, waiting, ready }: Units, unit: OpenUnit, reason?: ResultReason): void {
  for (const call of unit.calls) {
    if (call.result !== null) continue;
    call.result = missingResult(call, ids, reason);
    log.repair(call.place.line, `call ${shown(call.key)} has no result: one that says so was added`);
    stopWaiting(waiting, call);
  }
  ready.push(toUnit(unit));
}

/** Returns the unit for one of the answer's texts; undefined when a new unit is needed. */
function ofText(units: Units, answer: string | null): OpenUnit | undefined {
  return answer === null ? thoughtOnly(units.queue.at(-1)) : growing(units, answer);
}

/** Like `ofText`, for a call or a thought. */
function ofCall(units: Units, answer: string | null): OpenUnit | undefined {
  return answer === null ? joinable(units.queue.at(-1)) : growing(units, answer);
}

function growing({ queue }: Units, answer: string): OpenUnit | undefined {
  return queue.find((unit) => unit.answer === answer && hasRoom(unit));
}

function addCall(units: Units, answer: string | null, given: Pick<OpenCall, 'key' | 'use' | 'place'>): void {
  const { log, ids, waiting, messages } = units;
  const { key, place } = given;
  const known = ofCall(units, answer);
  if (answer !== null && known?.calls.some((call) => call.key === key))
    return log.skip(place.line, `call ${shown(key)} occurs twice`);
  const call: OpenCall = { key, use: withOwnCallId(given.use, place, ids, log), place, result: null, messages };
  (known ?? begin(units, answer)).calls.push(call);
  waiting
    .set(key, waiting.get(key) ?? [])
    .get(key)
    ?.push(call);
}

function addResult(units: Units, key: string, result: LooseResult, place: SourcePosition): void {
  const { id, timestamp, output, is_error, reason } = result;
  const call = chooseCall(units.waiting.get(key) ?? []);
  if (call === undefined) {
    units.log.skip(place.line, `a result of call ${shown(key)}, which is not waiting for one`);
    if (units.follows) addAside(units, { type: 'note', id, timestamp, text: toLateNote(key, output) });
    return;
  }
  stopWaiting(units.waiting, call);
  const given = reason === undefined ? {} : { reason };
  const { tool_call_id } = call.use;
  call.result = { type: 'tool_result', id, timestamp, tool_call_id, output, is_error, ...given };
  settle(units);
}

function addPlan(units: Units, answer: string | null, plan: NonNullable<OpenUnit['plan']>, by: UnitUsage = {}): void {
  const { queue, follows } = units;
  if (!follows) return;
  const key = plan.record.tool_call_id;
  const own = queue.find(({ calls }) => calls.some((call) => call.key === key)) ?? ofText(units, answer);
  const before = queue.slice(0, own === undefined ? queue.length : queue.indexOf(own));
  for (const unit of before) unit.isPassed = true;
  // Do not count this unit, because no line of the log can follow it.
  queue.splice(before.length, 0, { ...emptyUnit(), plan, usage: by, isPassed: true });
  settle(units);
}

function addAside(units: Units, record: Aside): void {
  const { queue, asides, follows } = units;
  const unit = queue.at(-1);
  if (unit?.plan === null && unit.after.length < unitLimits.asides) return void unit.after.push(record);
  if (follows) return void begin(units, null, { after: [record], isPassed: true });
  if (!unit && asides.length < unitLimits.asides) return void asides.push(record);
  begin(units, null).after.push(record);
}

function addUsage({ queue, ids }: Units, answer: string | null, usage: UnitUsage): void {
  const isAnswer = (unit: OpenUnit) => unit.message === null && unit.plan === null;
  const open = queue.filter((unit) => isAnswer(unit) && (answer === null || unit.answer === answer));
  const counted = open.find((unit) => Object.keys(unit.usage).length > 0);
  const unit = answer === null ? open.at(-1) : (counted ?? open.at(-1));
  if (unit === undefined || (unit !== counted && answer !== null && !ids.isNew('usage', answer))) return;
  unit.usage = usage;
}

function closeAll(units: Units, reason?: ResultReason): void {
  for (const unit of units.queue) release(units, unit, reason);
  units.queue = [];
}

function stopWaiting(waiting: Map<string, OpenCall[]>, call: OpenCall): void {
  const calls = waiting.get(call.key) ?? [];
  calls.splice(calls.indexOf(call), 1);
  if (calls.length === 0) waiting.delete(call.key);
}
