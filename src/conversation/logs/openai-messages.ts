/** Reads one OpenAI chat message into units. */
import type { ImportContext } from './import-context.ts';
import { toContentCall, toContentResult, withoutCalls } from '../records/content-calls.ts';
import { toOutput, toText } from './import-content.ts';
import type { SourcePosition } from '../records/import-ids.ts';
import { asText, fieldsOf, hasText, isObject, toInput, toStorable } from '../records/import-values.ts';

/** `answer` differs for each message. `created`: the document's time, for a message without its own time. */
export interface MessagePosition {
  place: SourcePosition;
  answer: string;
  created: unknown;
}

interface Message {
  fields: Record<string, unknown>;
  place: SourcePosition;
  answer: string;
  timestamp: unknown;
}

export function readOpenaiMessage(context: ImportContext, value: unknown, at: MessagePosition): void {
  const { place, answer, created } = at;
  if (!isObject(value)) return context.log.skip(place.line, 'not an object');
  const timestamp = value['timestamp'] ?? value['created_at'] ?? value['create_time'] ?? created;
  const message = { fields: value, place, answer, timestamp };
  const role = asText(value['role']);
  if (role === 'user') readUser(context, message);
  else if (role === 'assistant') readAnswer(context, message);
  else if (role === 'system' || role === 'developer') readInstructions(context, message, role);
  else if (role === 'tool') readResult(context, message, asText(value['tool_call_id']) ?? '');
  else if (role === 'function') readResult(context, message, functionKey(value['name']));
  else
    context.log.skip(
      place.line,
      role === undefined ? 'a message without a role' : `a message of the role ${shown(role)}`,
    );
}

function readUser(context: ImportContext, { fields, place, timestamp }: Message): void {
  const results = blocksOf(fields)
    .map(toContentResult)
    .filter((result) => result !== null);
  for (const { callId, output, isError } of results) {
    const base = context.base(place, timestamp);
    context.units.result(callId, { ...base, output: toOutput(output, context.log), is_error: isError }, place);
  }
  const content = toText(withoutCalls(fields['content']), context.log);
  if (!hasText(content)) return results.length > 0 ? undefined : context.log.leaveOut('empty texts');
  const base = context.base(place, timestamp, fields['id']);
  context.units.message({ type: 'user', ...base, message: { role: 'user', content }, source: 'import' });
}

function readInstructions(context: ImportContext, { fields, place, timestamp }: Message, role: string): void {
  const text = toText(fields['content'], context.log);
  if (!hasText(text)) return context.log.leaveOut('empty texts');
  const base = context.base(place, timestamp, fields['id']);
  context.units.aside({ type: 'note', ...base, text: `Instructions to the model (${role}):\n\n${text}` });
}

function readAnswer(context: ImportContext, message: Message): void {
  const { fields, place, answer, timestamp } = message;
  const text = [withoutCalls(fields['content']), fields['refusal'], fieldsOf(fields['audio'])['transcript']]
    .map((content) => toText(content, context.log))
    .filter(hasText)
    .join('\n\n');
  const calls = callsOf(fields);
  if (text !== '') {
    const base = context.base(place, timestamp, fields['id']);
    const said = { role: 'assistant' as const, content: text };
    context.units.say(answer, { type: 'assistant', ...base, message: said, source: 'import' });
  }
  for (const call of calls) readCall(context, message, call);
  if (text === '' && calls.length === 0) context.log.leaveOut('empty texts');
}

interface ForeignCall {
  callId: string;
  key: string;
  name: string;
  input: unknown;
}

function readCall(context: ImportContext, { place, answer, timestamp }: Message, call: ForeignCall): void {
  const base = context.base(place, timestamp);
  const { callId, name, input } = call;
  const use = { type: 'tool_use' as const, ...base, tool_call_id: callId, tool_name: name, tool_input: input };
  context.units.call(answer, call.key === '' ? base.id : call.key, use, place);
}

function callsOf(fields: Record<string, unknown>): ForeignCall[] {
  const calls = [
    ...(Array.isArray(fields['tool_calls']) ? fields['tool_calls'].filter(isObject).map(toCall) : []),
    ...blocksOf(fields)
      .map(toContentCall)
      .filter((call) => call !== null)
      .map((call) => ({ ...call, key: call.callId, input: toStorable(call.input) })),
  ];
  const legacy = fieldsOf(fields['function_call']);
  if (!hasText(legacy['name'])) return calls;
  const { name, arguments: written } = legacy;
  return [...calls, { callId: '', key: functionKey(name), name: asText(name) ?? '', input: toInput(written) }];
}

function blocksOf({ content }: Record<string, unknown>): unknown[] {
  return Array.isArray(content) ? content : [];
}

function toCall(call: Record<string, unknown>): ForeignCall {
  const callId = asText(call['id']) ?? '';
  const called = isObject(call['function']) ? call['function'] : fieldsOf(call['custom']);
  const input = 'arguments' in called ? toInput(called['arguments']) : (called['input'] ?? {});
  return { callId, key: callId, name: asText(called['name']) ?? '', input };
}

/** Before calls had IDs, a result named the function instead. */
function functionKey(name: unknown): string {
  return `function ${asText(name) ?? ''}`;
}

function readResult(context: ImportContext, { fields, place, timestamp }: Message, key: string): void {
  const base = context.base(place, timestamp, fields['id']);
  const output = toOutput(fields['content'], context.log);
  context.units.result(key, { ...base, output, is_error: false }, place);
}

function shown(role: string): string {
  return role.slice(0, 40);
}
