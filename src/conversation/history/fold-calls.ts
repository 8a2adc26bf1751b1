/** Matches results with their calls. Every call has a result: a stand-in until the real one arrives. */
import { addCall, addResultTo, type OpenStep, type Steps } from './fold-steps.ts';
import type { HistoryCall, HistoryResult } from './history.ts';
import { missingOutput, type ToolResultRecord, type ToolUseRecord } from '../records/record.ts';
import { openUniqueIds, type UniqueIds } from '../records/unique-ids.ts';
import { showId, type RepairList } from './repairs.ts';
import { isObject } from '../../session/text/parse-object.ts';

interface WaitingCall {
  call: HistoryCall;
  owner: OpenStep;
  turn: string;
  /** The place reserved for the call in the list of repairs. */
  place: number;
}

export interface Calls {
  /** IDs of calls, which are separate from record IDs. */
  callIds: UniqueIds;
  /** Waiting calls, keyed by the ID in their record, which several calls may share. */
  waiting: Map<string, WaitingCall[]>;
  steps: Steps;
  repairs: RepairList;
}

export function openCalls(steps: Steps, repairs: RepairList): Calls {
  return { callIds: openUniqueIds(), waiting: new Map(), steps, repairs };
}

/** `id` is the record's unique ID. */
export function placeCall(calls: Calls, turn: string, record: ToolUseRecord, id: string): void {
  if (isCallAgain(calls, record)) {
    const text = `The call ${showId(record.tool_call_id)} occurs twice: the second one was left out.`;
    calls.repairs.add('duplicate-call', turn, text);
    return;
  }
  const call = toCall(calls, turn, record, id);
  const owner = addCall(calls.steps, call);
  const waiting = calls.waiting.get(record.tool_call_id) ?? [];
  waiting.push({ call, owner, turn, place: calls.repairs.keepPlace() });
  calls.waiting.set(record.tool_call_id, waiting);
}

/** Prefers the first waiting call of the current step, then the last one of earlier steps. */
export function placeResult(calls: Calls, turn: string, record: ToolResultRecord, id: string): void {
  const waiting = calls.waiting.get(record.tool_call_id);
  const at = waiting === undefined ? -1 : findWaiting(waiting, calls.steps);
  const found = waiting?.[at];
  if (found === undefined) return reportUnplaced(calls, turn, record, waiting !== undefined);
  found.call.result = toResult(record, id);
  if (!found.call.result.isSynthetic) waiting?.splice(at, 1);
  if (addResultTo(calls.steps, found.owner) || found.call.result.isSynthetic) return;
  const text = `The result of the call ${showId(found.call.callId)} came late: it was moved to its call.`;
  calls.repairs.add('late-result', turn, text);
}

/** Answers the calls that are still waiting at the end of the records. */
export function endCalls(calls: Calls, recordIds: UniqueIds): void {
  const left = [...calls.waiting.values()].flat();
  for (const { call, turn, place } of left) {
    if (call.result.id === '') call.result.id = recordIds.take(syntheticId(call.callId));
    const text = `The call ${showId(call.callId)} of ${showId(call.name)} has no result: an error was put in its place.`;
    calls.repairs.add('call-without-result', turn, text, place);
  }
}

function reportUnplaced(calls: Calls, turn: string, record: ToolResultRecord, isKnown: boolean): void {
  const shown = showId(record.tool_call_id);
  if (isKnown) calls.repairs.add('duplicate-result', turn, `Another result of the call ${shown} was left out.`);
  else calls.repairs.add('orphan-result', turn, `A result of the call ${shown} was left out: there is no such call.`);
}

function findWaiting(waiting: readonly WaitingCall[], { open }: Steps): number {
  let at = waiting.length - 1;
  while (at > 0 && open !== null && waiting[at]?.owner === open && waiting[at - 1]?.owner === open) at -= 1;
  return at;
}

/** A record without its own ID counts as a repeat when it equals a call that is still waiting. */
function isCallAgain({ waiting, steps }: Calls, record: ToolUseRecord): boolean {
  const last = waiting.get(record.tool_call_id)?.at(-1);
  if (record.id !== '' || last === undefined || last.owner !== steps.open || last.call.name !== record.tool_name)
    return false;
  return JSON.stringify(last.call.input) === JSON.stringify(toInput(record.tool_input));
}

function toCall(calls: Calls, turn: string, record: ToolUseRecord, id: string): HistoryCall {
  const callId = calls.callIds.take(record.tool_call_id);
  if (callId !== record.tool_call_id) {
    const text = `Another call has the id ${showId(record.tool_call_id)}: this one was renamed to ${showId(callId)}.`;
    calls.repairs.add('duplicate-call', turn, text);
  }
  if (!isObject(record.tool_input)) {
    const text = `The input of the call ${showId(callId)} is not an object: it was wrapped in one.`;
    calls.repairs.add('bad-input', turn, text);
  }
  const { timestamp, tool_name: name } = record;
  return { id, timestamp, callId, name, input: toInput(record.tool_input), result: toMissing(timestamp) };
}

function toInput(input: unknown): Record<string, unknown> {
  if (isObject(input)) return input;
  return input === undefined || input === null ? {} : { input };
}

/** The stand-in receives its ID only when it is certain to stay. */
function toMissing(timestamp: string): HistoryResult {
  return { id: '', timestamp, output: missingOutput, isError: true, isSynthetic: true };
}

function toResult(record: ToolResultRecord, id: string): HistoryResult {
  const { timestamp, output, is_error, reason, tool_call_id } = record;
  const isError = is_error || (reason !== undefined && reason !== 'instructed');
  const result = { id, timestamp, output, isError, isSynthetic: record.id === syntheticId(tool_call_id) };
  return reason === undefined ? result : { ...result, reason };
}

/** The ID reveals stand-ins, even after a history was written as records and read again. */
function syntheticId(callId: string): string {
  return `${callId}-synthetic`;
}
