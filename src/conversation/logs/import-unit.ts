/** One growing unit of a foreign log, and its conversion to an import unit. */
import type { ImportUnit, UnitUsage } from './importer.ts';
import type { ImportIds, SourcePosition } from '../records/import-ids.ts';
import type { ImportLog } from './import-report.ts';
import {
  abortedOutput,
  summarySource,
  type AssistantRecord,
  type InterruptedRecord,
  type MetaRecord,
  type NoteRecord,
  type PartialRecord,
  type PlanRecord,
  type ResultReason,
  type ThinkingRecord,
  type ToolResultRecord,
  type ToolUseRecord,
  type UserRecord,
} from '../records/record.ts';

/** Records that accompany the conversation. */
export type Aside = NoteRecord | MetaRecord | InterruptedRecord;
export type SpokenRecord = AssistantRecord | PartialRecord;

export interface OpenCall {
  key: string;
  use: ToolUseRecord;
  place: SourcePosition;
  result: ToolResultRecord | null;
  /** The number of messages before the unit. */
  messages: number;
}

export interface OpenUnit {
  answer: string | null;
  before: Aside[];
  /** A message's user record; its unit contains no other words. */
  message: UserRecord | null;
  isQueued: boolean;
  /** A plan, which is a separate unit. */
  plan: { record: PlanRecord; text: string } | null;
  /** An answer's texts and thoughts, in their original order. */
  texts: (SpokenRecord | ThinkingRecord)[];
  calls: OpenCall[];
  after: Aside[];
  usage: UnitUsage;
  /** Something else has begun since this unit. */
  isPassed: boolean;
}

export const unitLimits = { queuedUnits: 32, unitRecords: 256, asides: 64 };

export const noResultOutput = 'The source of this conversation holds no result of this call';

export function emptyUnit(): OpenUnit {
  const records = { before: [], message: null, plan: null, texts: [], calls: [], after: [] };
  // If the spread came first, V8 would retain every unit until the next full garbage collection.
  return { answer: null, isQueued: false, usage: {}, isPassed: false, ...records };
}

export function isAnswered(unit: OpenUnit): boolean {
  return unit.calls.every((call) => call.result !== null);
}

export function hasRoom(unit: OpenUnit): boolean {
  return unit.texts.length + unit.calls.length < unitLimits.unitRecords;
}

/** If answers have no names, a call belongs to the preceding text or calls until a result arrives. */
export function joinable(unit: OpenUnit | undefined): OpenUnit | undefined {
  if (!unit || unit.answer !== null || !hasRoom(unit)) return undefined;
  const last = unit.texts.at(-1);
  if (unit.texts.length + unit.calls.length === 0 || last?.type === 'assistant_partial') return undefined;
  if (last?.type === 'assistant' && last.source === summarySource) return undefined;
  return unit.calls.some((call) => call.result !== null) ? undefined : unit;
}

/** If answers have no names, a text belongs to the preceding thoughts. */
export function thoughtOnly(unit: OpenUnit | undefined): OpenUnit | undefined {
  const isThought = unit?.calls.length === 0 && unit.texts.every(({ type }) => type === 'thinking');
  return isThought ? joinable(unit) : undefined;
}

export function countRecords(unit: OpenUnit): number {
  const said =
    (unit.message === null ? 0 : 1) + (unit.plan === null ? 0 : 1) + unit.texts.length + 2 * unit.calls.length;
  return unit.before.length + said + unit.after.length;
}

export function toUnit({ before, message, isQueued, plan, texts, calls, after, usage }: OpenUnit): ImportUnit {
  if (plan !== null) return { kind: 'plan', records: [plan.record], plan: plan.text, ...usage };
  const queued = isQueued ? { queued: true } : {};
  if (message !== null) return { kind: 'message', records: [...before, message, ...after], ...queued };
  const uses = calls.map((call) => call.use);
  const results = calls.flatMap((call) => call.result ?? []);
  const kind = calls.length > 0 ? 'exchange' : 'reply';
  return {
    kind,
    records: [
      ...before,
      ...oneText(texts).map((text) => (calls.length > 0 ? toWhole(text) : text)),
      ...uses,
      ...results,
      ...after,
    ],
    ...usage,
  };
}

/** Merges an answer's texts into one record under the first one's ID; thoughts keep their places. */
function oneText(texts: OpenUnit['texts']): OpenUnit['texts'] {
  const spoken = texts.filter((record) => record.type !== 'thinking');
  const [first] = spoken;
  if (!first || spoken.length === 1) return texts;
  const said = spoken.map(({ message }) => ('content' in message ? message.content : '')).join('\n\n');
  const whole: AssistantRecord = { ...first, type: 'assistant', message: { role: 'assistant', content: said } };
  const text = spoken.at(-1)?.type === 'assistant_partial' ? toPartial(whole) : whole;
  return texts.flatMap((record): OpenUnit['texts'] => {
    if (record === first) return [text];
    return record.type === 'thinking' ? [record] : [];
  });
}

/** A text before a call is complete. */
function toWhole(record: OpenUnit['texts'][number]): OpenUnit['texts'][number] {
  return record.type === 'assistant_partial' ? { ...record, type: 'assistant' } : record;
}

export function toPartial(record: SpokenRecord): PartialRecord {
  const content = 'content' in record.message ? record.message.content : '';
  return { ...record, type: 'assistant_partial', message: { role: 'assistant', content } };
}

export function missingResult(call: OpenCall, ids: ImportIds, reason?: ResultReason): ToolResultRecord {
  const { timestamp, tool_call_id } = call.use;
  const output = reason === 'aborted' ? abortedOutput : noResultOutput;
  const base = { type: 'tool_result' as const, id: ids.idFor(call.place), timestamp, tool_call_id, output };
  return { ...base, is_error: true, ...(reason === undefined ? {} : { reason }) };
}

/** Returns the first waiting call since the latest message: when IDs are reused, earlier calls count as abandoned. */
export function chooseCall(waiting: readonly OpenCall[]): OpenCall | undefined {
  return waiting.find(({ messages }) => messages === waiting.at(-1)?.messages);
}

/** Some sources restart the numbering of calls in every answer. */
export function withOwnCallId(
  record: ToolUseRecord,
  place: SourcePosition,
  ids: ImportIds,
  log: ImportLog,
): ToolUseRecord {
  const { tool_call_id: callId } = record;
  if (callId !== '' && ids.isNew('call', callId)) return record;
  if (callId !== '') log.repair(place.line, `call ${shown(callId)} has the id of an earlier one: it got another`);
  return { ...record, tool_call_id: ids.idFor(place) };
}

export function toLateNote(key: string, output: unknown): string {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return `A result of the call ${shown(key)} came when nothing waited for it:\n\n${text}`;
}

export function shown(key: string): string {
  return key.length > 60 ? `${key.slice(0, 60)}...` : key;
}
