/** Reads the events of a Codex rollout: what was shown on the screen. */
import type { CodexEntry, CodexSource } from './codex-entry.ts';
import { isCodexNotice } from './codex-items.ts';
import type { ImportContext } from './import-context.ts';
import { asText, hasText, toStorable } from './import-values.ts';

export function readCodexEvent(context: ImportContext, entry: CodexEntry, wanted: CodexSource): void {
  const type = asText(entry.payload['type']) ?? '';
  if (type === 'turn_aborted') context.units.interrupt();
  if (type === 'thread_rolled_back') return addRollback(context, entry);
  if (type === 'user_message' || type === 'agent_message') {
    if (wanted.messages === 'events') return readMessage(context, entry, type);
    return context.log.leaveOut('events that items repeat');
  }
  if (wanted.calls === 'events' && type === 'exec_command_begin') return readBegin(context, entry);
  if (wanted.calls === 'events' && type === 'exec_command_end') return readEnd(context, entry);
  context.log.leaveOut('events');
}

function readMessage(context: ImportContext, entry: CodexEntry, type: 'user_message' | 'agent_message'): void {
  const { payload, timestamp, place } = entry;
  const content = payload['message'];
  if (!hasText(content)) return context.log.leaveOut('empty texts');
  if (type === 'user_message' && isCodexNotice(content)) return context.log.leaveOut('instructions of the program');
  const base = { ...context.base(place, timestamp), source: 'import' };
  if (type === 'user_message') context.units.message({ type: 'user', ...base, message: { role: 'user', content } });
  else context.units.say(null, { type: 'assistant', ...base, message: { role: 'assistant', content } });
}

/** What was taken back was said as well. */
function addRollback(context: ImportContext, { payload, timestamp, place }: CodexEntry): void {
  const count = typeof payload['num_turns'] === 'number' ? payload['num_turns'] : 1;
  const text = `The user took back the last ${count === 1 ? 'turn' : `${count} turns`} here.`;
  context.units.aside({ type: 'note', ...context.base(place, timestamp), text });
}

function readBegin(context: ImportContext, { payload, timestamp, place }: CodexEntry): void {
  const callId = asText(payload['call_id']) ?? '';
  const base = context.base(place, timestamp);
  const { command, cwd } = payload;
  const input = { command: toStorable(command ?? ''), ...(hasText(cwd) ? { cwd } : {}) };
  const use = { type: 'tool_use' as const, ...base, tool_call_id: callId, tool_name: 'exec_command' };
  context.units.call(null, callId === '' ? base.id : callId, { ...use, tool_input: input }, place);
}

function readEnd(context: ImportContext, { payload, timestamp, place }: CodexEntry): void {
  const { aggregated_output: all, stdout, stderr, exit_code: code } = payload;
  const output = hasText(all) ? all : [stdout, stderr].filter(hasText).join('\n');
  const result = { ...context.base(place, timestamp), output, is_error: typeof code === 'number' && code !== 0 };
  context.units.result(asText(payload['call_id']) ?? '', result, place);
}
