/** Reads a rollout's items: the content of the model's requests and of the answers. */
import type { CodexEntry } from './entry.ts';
import type { LineContext } from '../../conversation/logs/import-context.ts';
import { toOutput, toText } from '../../conversation/logs/import-content.ts';
import {
  asText,
  fieldsOf,
  hasText,
  isObject,
  parseJson,
  toInput,
  toStorable,
} from '../../conversation/records/import-values.ts';

export const callItemTypes = [
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'tool_search_call',
  'web_search_call',
];

const outputTypes = [
  'function_call_output',
  'custom_tool_call_output',
  'local_shell_call_output',
  'tool_search_output',
];

/** The beginnings of texts that the program sends in the user's name. */
const noticeStarts = [
  '<user_instructions>',
  '<environment_context>',
  '<permissions instructions>',
  '<collaboration_mode>',
  '<subagent_notification>',
  '<hook_prompt',
  '<skill>',
  '<INSTRUCTIONS>',
  '# AGENTS.md instructions',
];

export const otherItemTypes = ['message', 'reasoning', ...outputTypes];

/** Reads an item. `isAborted` is true when the item shows that the user stopped the turn. */
export function readCodexItem(context: LineContext, entry: CodexEntry): { isAborted: boolean } {
  const type = asText(entry.payload['type']) ?? '';
  if (type === 'message') return { isAborted: readMessage(context, entry) };
  if (callItemTypes.includes(type)) readCall(context, entry, type);
  else if (outputTypes.includes(type)) readOutput(context, entry);
  else if (type === 'reasoning') readThoughts(context, entry);
  else context.log.leaveOut('lines of bookkeeping');
  return { isAborted: false };
}

/** Some providers do not reveal the words. */
function readThoughts(context: LineContext, { payload, timestamp, place }: CodexEntry): void {
  const { summary, content } = payload;
  const text = [summary, content].map((parts) => toText(parts ?? '', context.log)).find(hasText);
  if (text === undefined) return context.log.leaveOut('thoughts without words');
  context.units.think(null, { type: 'thinking', ...context.base(place, timestamp, payload['id']), text });
}

function readMessage(context: LineContext, entry: CodexEntry): boolean {
  const { role, content } = entry.payload;
  if (role === 'assistant') readAnswer(context, entry);
  else if (role === 'user') return readSaid(context, entry, content);
  else context.log.leaveOut('instructions of the program');
  return false;
}

function readSaid(context: LineContext, entry: CodexEntry, content: unknown): boolean {
  const parts = Array.isArray(content) ? content : [content];
  const said = parts.filter((part) => !isCodexNotice(partText(part)));
  if (said.length < parts.length) context.log.leaveOut('instructions of the program');
  const spoken = said.filter((part) => !isAborted(partText(part)));
  if (spoken.length > 0) addMessage(context, entry, toText(spoken, context.log));
  return spoken.length < said.length;
}

function readAnswer(context: LineContext, { payload, timestamp, place }: CodexEntry): void {
  const content = toText(payload['content'], context.log).replaceAll(/<\/?proposed_plan>\n?/g, '');
  if (!hasText(content)) return context.log.leaveOut('empty texts');
  const base = context.base(place, timestamp, payload['id']);
  context.units.say(null, {
    type: 'assistant',
    ...base,
    message: { role: 'assistant', content },
    source: context.source,
  });
}

function addMessage(context: LineContext, { payload, timestamp, place }: CodexEntry, content: string): void {
  if (!hasText(content)) return context.log.leaveOut('empty texts');
  const base = context.base(place, timestamp, payload['id']);
  context.units.message({ type: 'user', ...base, message: { role: 'user', content }, source: context.source });
}

function partText(part: unknown): string {
  return asText(part) ?? asText(fieldsOf(part)['text']) ?? '';
}

function isAborted(text: string): boolean {
  return text.trimStart().startsWith('<turn_aborted>');
}

export function isCodexNotice(text: string): boolean {
  const trimmed = text.trimStart();
  return noticeStarts.some((start) => trimmed.startsWith(start));
}

function readCall(context: LineContext, { payload, timestamp, place }: CodexEntry, type: string): void {
  const { units } = context;
  const base = context.base(place, timestamp, payload['id']);
  const callId = asText(payload['call_id']) ?? asText(payload['id']) ?? '';
  const key = callId === '' ? base.id : callId;
  const use = { type: 'tool_use' as const, ...base, tool_call_id: callId, tool_name: nameOf(payload, type) };
  units.call(null, key, { ...use, tool_input: inputOf(payload, type) }, place);
  if (type !== 'web_search_call') return;
  // The search ran at the model's provider, and a rollout does not contain its results.
  const output = 'The source of this conversation does not hold what the search found';
  units.result(key, { ...context.base(place, timestamp), output, is_error: false }, place);
}

function nameOf(payload: Record<string, unknown>, type: string): string {
  const name = asText(payload['name']) ?? type.replace(/_call$/, '');
  return hasText(payload['namespace']) ? `${payload['namespace']}.${name}` : name;
}

function inputOf(payload: Record<string, unknown>, type: string): unknown {
  // A custom tool's input is a text in its own grammar.
  if (type === 'custom_tool_call' && payload['input'] !== undefined) return toStorable(payload['input']);
  return toInput(payload['arguments'] ?? payload['action']);
}

function readOutput(context: LineContext, { payload, timestamp, place }: CodexEntry): void {
  const base = context.base(place, timestamp, payload['id']);
  const { output, is_error } = toCodexResult(payload['output'] ?? payload['tools'], context);
  const denied = isDenied(payload['output']) ? { is_error: true, reason: 'denied' as const } : { is_error };
  context.units.result(asText(payload['call_id']) ?? '', { ...base, output, ...denied }, place);
}

/** Returns true if a person, a rule or a hook did not let the command run. */
function isDenied(output: unknown): boolean {
  return /^(?:Command blocked by PreToolUse hook|exec_command failed: CreateProcess \{ message: "Rejected\()/.test(
    asText(output) ?? '',
  );
}

/** Reads a text, parts, `{ content, success }`, or `{ output, metadata: { exit_code } }` as an object or as JSON. */
function toCodexResult(given: unknown, { log }: LineContext): { output: unknown; is_error: boolean } {
  const value = typeof given === 'string' && given.startsWith('{"output":') ? parseJson(given) : given;
  if (isObject(value) && 'output' in value) {
    const code = fieldsOf(value['metadata'])['exit_code'];
    return { output: toOutput(value['output'], log), is_error: typeof code === 'number' && code !== 0 };
  }
  if (isObject(value) && 'content' in value)
    return { output: toOutput(value['content'], log), is_error: value['success'] === false };
  const failed = typeof given === 'string' && /^Exit code: [1-9]/.test(given);
  return { output: toOutput(given, log), is_error: failed };
}
