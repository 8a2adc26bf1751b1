/** Reads the events of a Codex rollout: what was shown on the screen. */
import type { CodexEntry, CodexSource, CodexState } from './entry.ts';
import { isCodexNotice } from './items.ts';
import { interruptionNote, type LineContext } from '../../conversation/import-context.ts';
import { countOf, toUsage } from '../../conversation/import-usage.ts';
import { asText, fieldsOf, hasText, isObject, toStorable } from '../../conversation/import-values.ts';

export function readCodexEvent(context: LineContext, entry: CodexEntry, wanted: CodexSource, state: CodexState): void {
  const type = asText(entry.payload['type']) ?? '';
  if (type === 'turn_aborted') return addInterruption(context, entry, state);
  if (type === 'task_complete' && isObject(entry.payload['error'])) return addError(context, entry);
  if (type === 'thread_rolled_back') return addRollback(context, entry);
  if (type === 'user_message' || type === 'agent_message') {
    if (wanted.messages === 'events') return readMessage(context, entry, type);
    return context.log.leaveOut('events that items repeat');
  }
  if (wanted.calls === 'events' && type === 'exec_command_begin') return readBegin(context, entry);
  if (wanted.calls === 'events' && type === 'exec_command_end') return readEnd(context, entry);
  context.log.leaveOut('events');
}

function readMessage(context: LineContext, entry: CodexEntry, type: 'user_message' | 'agent_message'): void {
  const { payload, timestamp, place } = entry;
  const content = payload['message'];
  if (!hasText(content)) return context.log.leaveOut('empty texts');
  if (type === 'user_message' && isCodexNotice(content)) return context.log.leaveOut('instructions of the program');
  const base = { ...context.base(place, timestamp), source: context.source };
  if (type === 'user_message') context.units.message({ type: 'user', ...base, message: { role: 'user', content } });
  else context.units.say(null, { type: 'assistant', ...base, message: { role: 'assistant', content } });
}

/** Turns that were taken back were said as well. */
function addRollback(context: LineContext, { payload, timestamp, place }: CodexEntry): void {
  const count = typeof payload['num_turns'] === 'number' ? payload['num_turns'] : 1;
  const text = `The user took back the last ${count === 1 ? 'turn' : `${count} turns`} here.`;
  context.units.aside({ type: 'note', ...context.base(place, timestamp), text });
}

function readBegin(context: LineContext, { payload, timestamp, place }: CodexEntry): void {
  const callId = asText(payload['call_id']) ?? '';
  const base = context.base(place, timestamp);
  const { command, cwd } = payload;
  const input = { command: toStorable(command ?? ''), ...(hasText(cwd) ? { cwd } : {}) };
  const use = { type: 'tool_use' as const, ...base, tool_call_id: callId, tool_name: 'exec_command' };
  context.units.call(null, callId === '' ? base.id : callId, { ...use, tool_input: input }, place);
}

function readEnd(context: LineContext, { payload, timestamp, place }: CodexEntry): void {
  const { aggregated_output: all, stdout, stderr, exit_code: code } = payload;
  const output = hasText(all) ? all : [stdout, stderr].filter(hasText).join('\n');
  const result = { ...context.base(place, timestamp), output, is_error: typeof code === 'number' && code !== 0 };
  context.units.result(asText(payload['call_id']) ?? '', result, place);
}

/** An item and an event may both say it. */
export function addInterruption(context: LineContext, { place, timestamp }: CodexEntry, state: CodexState): void {
  if (state.isInterrupted === true) context.log.leaveOut('marks of an interruption');
  const note = { type: 'note' as const, ...context.base(place, timestamp), text: interruptionNote };
  context.units.interrupt(state.isInterrupted === true ? null : note);
  state.isInterrupted = true;
}

function addError(context: LineContext, { payload, place, timestamp }: CodexEntry): void {
  const message = asText(fieldsOf(payload['error'])['message']) ?? JSON.stringify(payload['error']);
  context.units.aside({
    type: 'note',
    ...context.base(place, timestamp),
    text: `The turn ended with an error: ${message}`,
  });
}

/** It stands after the items of its answer. */
export function readCodexUsage(context: LineContext, { payload }: CodexEntry, { model, provider }: CodexState): void {
  const usage = fieldsOf(payload['usage']);
  const [input, output] = [countOf(usage['input_tokens']), countOf(usage['output_tokens'])];
  const [cached, reasoning] = [countOf(usage['cached_input_tokens']), countOf(usage['reasoning_output_tokens'])];
  context.units.usage(null, toUsage(model, provider, { input, output, cached, reasoning }));
}
