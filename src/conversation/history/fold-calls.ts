/** Which result belongs to which call. Every call has one: until its own comes, one that stands in for it. */
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
  /** The place of the call among the repairs. */
  place: number;
}

export interface Calls {
  /** The ids of the calls, apart from those of the records. */
  callIds: UniqueIds;
  /** By the id that the record has, which several calls may have. */
  waiting: Map<string, WaitingCall[]>;
  steps: Steps;
  repairs: RepairList;
}

export function openCalls(steps: Steps, repairs: RepairList): Calls {
  return { callIds: openUniqueIds(), waiting: new Map(), steps, repairs };
}

/** `id`: of the record, unique. */
export function placeCall(calls: Calls, turn: string, record: ToolUseRecord, id: string): void {
  if (isCallAgain(calls, record)) {
    const text = `The call ${showId(record.tool_call_id)} is there twice: the second one was left out.`;
    calls.repairs.add('duplicate-call', turn, text);
    return;
  }
  const call = toCall(calls, turn, record, id);
  const owner = addCall(calls.steps, call);
  const waiting = calls.waiting.get(record.tool_call_id) ?? [];
  waiting.push({ call, owner, turn, place: calls.repairs.keepPlace() });
  calls.waiting.set(record.tool_call_id, waiting);
}

/** The first call of the step that waits for it, else the last one of those before. */
export function placeResult(calls: Calls, turn: string, record: ToolResultRecord, id: string): void {
  const waiting = calls.waiting.get(record.tool_call_id);
  const at = waiting === undefined ? -1 : findWaiting(waiting, calls.steps);
  const found = waiting?.[at];
  if (found === undefined) return reportUnplaced(calls, turn, record, waiting !== undefined);
  found.call.result = toResult(record, id);
  if (!found.call.result.isSynthetic) waiting?.splice(at, 1);
  if (addResultTo(calls.steps, found.owner) || found.call.result.isSynthetic) return;
  const text = `The result of the call ${showId(found.call.callId)} came late: it stands behind its call.`;
  calls.repairs.add('late-result', turn, text);
}

/** There are no more records: what still waits is answered. */
export function endCalls(calls: Calls, recordIds: UniqueIds): void {
  const left = [...calls.waiting.values()].flat();
  for (const { call, turn, place } of left) {
    if (call.result.id === '') call.result.id = recordIds.take(syntheticId(call.callId));
    const text = `The call ${showId(call.callId)} of ${showId(call.name)} has no result: an error stands in for it.`;
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

/** Without an id of its own, a record that says the same as one that still waits is the same. */
function isCallAgain({ waiting, steps }: Calls, record: ToolUseRecord): boolean {
  const last = waiting.get(record.tool_call_id)?.at(-1);
  if (record.id !== '' || last === undefined || last.owner !== steps.open || last.call.name !== record.tool_name)
    return false;
  return JSON.stringify(last.call.input) === JSON.stringify(toInput(record.tool_input));
}

function toCall(calls: Calls, turn: string, record: ToolUseRecord, id: string): HistoryCall {
  const callId = calls.callIds.take(record.tool_call_id);
  if (callId !== record.tool_call_id) {
    const text = `Another call has the id ${showId(record.tool_call_id)}: this one has become ${showId(callId)}.`;
    calls.repairs.add('duplicate-call', turn, text);
  }
  if (!isObject(record.tool_input)) {
    const text = `The input of the call ${showId(callId)} is no object: it was put into one.`;
    calls.repairs.add('bad-input', turn, text);
  }
  const { timestamp, tool_name: name } = record;
  return { id, timestamp, callId, name, input: toInput(record.tool_input), result: toMissing(timestamp) };
}

function toInput(input: unknown): Record<string, unknown> {
  if (isObject(input)) return input;
  return input === undefined || input === null ? {} : { input };
}

/** Its id is made when it is known to stay. */
function toMissing(timestamp: string): HistoryResult {
  return { id: '', timestamp, output: missingOutput, isError: true, isSynthetic: true };
}

function toResult(record: ToolResultRecord, id: string): HistoryResult {
  const { timestamp, output, is_error, reason, tool_call_id } = record;
  const isError = is_error || (reason !== undefined && reason !== 'instructed');
  const result = { id, timestamp, output, isError, isSynthetic: record.id === syntheticId(tool_call_id) };
  return reason === undefined ? result : { ...result, reason };
}

/** A history that was written as records and read again still knows which of them stand in. */
function syntheticId(callId: string): string {
  return `${callId}-synthetic`;
}
