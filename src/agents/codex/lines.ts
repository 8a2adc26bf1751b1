/** Reads the lines of a Codex rollout, and adds each line's content to the context's units. */
import type { CodexEntry, CodexSource, CodexState } from './entry.ts';
import { callItemTypes, readCodexItem, isCodexNotice } from './items.ts';
import { addPlan } from '../../conversation/logs/agent-records.ts';
import { addSummary, type LineContext, interruptionNote } from '../../conversation/logs/import-context.ts';
import { toPlace } from '../../conversation/records/import-ids.ts';
import { countOf, toUsage } from '../../conversation/logs/import-content.ts';
import { asText, fieldsOf, hasText, isObject, toStorable } from '../../conversation/records/import-values.ts';

export const maxHeldLines = 256;
const maxHeldChars = 16 * 1024 * 1024;

export interface CodexReader {
  read(entry: CodexEntry): void;
  /** Reads the lines held back, because no more lines follow. */
  decide(): void;
  /** Reads the lines held back if they contain anything that somebody said. */
  settle(): void;
  heldLines(): number;
}

/**
 * A rollout contains most of the conversation twice: as an item in the model's request, and as an event for the screen.
 * If a message appears among the items, this function reads the items. It holds lines back until a message appears; if
 * there is none among the first 256 lines, it reads messages from the events, and calls from the items if there are
 * any, otherwise also from the events.
 */
export function openCodexReader(context: LineContext, state: CodexState): CodexReader {
  let held: CodexEntry[] = [];
  let heldChars = 0;

  const use = (entry: CodexEntry, from: CodexSource): void => {
    if (entry.kind === 'usage') return readCodexUsage(context, entry, state);
    if (entry.kind === 'other') return readSettings(entry);
    readPlan(context, entry, state);
    if (entry.kind === 'event') return readCodexEvent(context, entry, from, state);
    if (entry.kind === 'compacted') return readSummary(entry);
    if (from[isMessage(entry) ? 'messages' : 'calls'] !== 'items')
      return context.log.leaveOut('items that events repeat');
    const { isAborted } = readCodexItem(context, entry);
    if (isAborted) addInterruption(context, entry, state);
    else if (isMessage(entry) && entry.payload['role'] === 'user') state.isInterrupted = false;
  };
  const readSettings = ({ payload }: CodexEntry): void => {
    if (hasText(payload['model'])) state.model = payload['model'];
    if (hasText(payload['model_provider'])) state.provider = payload['model_provider'];
    context.log.leaveOut('lines of bookkeeping');
  };
  const readSummary = ({ payload, timestamp, place }: CodexEntry): void => {
    if (!hasText(payload['message'])) return context.log.leaveOut('lines of bookkeeping');
    addSummary(context, context.base(place, timestamp), payload['message']);
  };
  const decideFor = (decided: CodexSource): void => {
    state.source = decided;
    for (const entry of held) use(entry, decided);
    [held, heldChars] = [[], 0];
  };
  return {
    read: (entry) => {
      if (state.source !== undefined) return use(entry, state.source);
      held.push(entry);
      heldChars += entry.place.text.length;
      if (isMessage(entry)) decideFor({ messages: 'items', calls: 'items' });
      else if (held.length >= maxHeldLines || heldChars >= maxHeldChars) decideFor(toSource(held));
    },
    decide: () => {
      if (state.source === undefined) decideFor(toSource(held));
    },
    settle: () => {
      if (held.some(isShownMessage)) decideFor(toSource(held));
    },
    heldLines: () => held.length,
  };
}

/** Adds the plan in an item or an answer; omits the second of the two. */
function readPlan(context: LineContext, entry: CodexEntry, state: CodexState): void {
  const { payload, timestamp, place } = entry;
  const item = fieldsOf(payload['item']);
  const isItem = entry.kind === 'event' && payload['type'] === 'item_completed' && item['type'] === 'Plan';
  const isAnswer = isMessage(entry) && payload['role'] === 'assistant';
  const text = isItem ? asText(item['text']) : isAnswer ? proposedPlan(payload['content']) : undefined;
  if (text === undefined || !hasText(text)) return;
  const digest = context.ids.digestOf(toPlace(place.line, text.trim()));
  const { plan: last } = state;
  // The item comes before its answer; otherwise the texts are compared.
  const isRepeated = last !== undefined && last.isItem !== isItem && (last.isItem || last.digest === digest);
  delete state.plan;
  if (isRepeated) return;
  state.plan = { digest, isItem };
  // Codex names a plan after its turn, in which a hook may ask for another one.
  const named = asText(isItem ? item['id'] : payload['id']) ?? '';
  const id = named !== '' && context.ids.isNew('plan', named) ? named : context.ids.digestOf(place).slice(0, 32);
  const by = toUsage(state.model, state.provider, { input: 0, output: 0 });
  addPlan(context, place, timestamp, { answer: null, id, text, by });
}

/** Returns the plan in an answer's text, without its tags. */
function proposedPlan(content: unknown): string | undefined {
  const parts = Array.isArray(content) ? content.map((part) => asText(fieldsOf(part)['text']) ?? '') : [content];
  return /<proposed_plan>\n?([\s\S]*?)<\/proposed_plan>/.exec(parts.join(''))?.[1];
}

/** Decides which copies to read when the items contain no message. */
function toSource(held: readonly CodexEntry[]): CodexSource {
  const hasCalls = held.some(({ kind, payload }) => kind === 'item' && isCall(payload));
  return { messages: 'events', calls: hasCalls ? 'items' : 'events' };
}

function isCall(payload: Record<string, unknown>): boolean {
  return callItemTypes.includes(asText(payload['type']) ?? '');
}

function isShownMessage({ kind, payload }: CodexEntry): boolean {
  return kind === 'event' && ['user_message', 'agent_message'].includes(asText(payload['type']) ?? '');
}

function isMessage({ kind, payload }: CodexEntry): boolean {
  return kind === 'item' && payload['type'] === 'message';
}

/** Reads the events of a Codex rollout: the texts that the screen showed. */
function readCodexEvent(context: LineContext, entry: CodexEntry, wanted: CodexSource, state: CodexState): void {
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

/** Adds a note, because the turns that were rolled back were also part of the conversation. */
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

/** Adds the interruption only once, although both an item and an event may report it. */
function addInterruption(context: LineContext, { place, timestamp }: CodexEntry, state: CodexState): void {
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

/** Reads the usage, which comes after the items of its answer. */
function readCodexUsage(context: LineContext, { payload }: CodexEntry, { model, provider }: CodexState): void {
  const usage = fieldsOf(payload['usage']);
  const [input, output] = [countOf(usage['input_tokens']), countOf(usage['output_tokens'])];
  const [cached, reasoning] = [countOf(usage['cached_input_tokens']), countOf(usage['reasoning_output_tokens'])];
  context.units.usage(null, toUsage(model, provider, { input, output, cached, reasoning }));
}
