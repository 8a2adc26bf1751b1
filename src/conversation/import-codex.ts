/** Reads the rollouts of Codex: `~/.codex/sessions/<date>/rollout-<time>-<id>.jsonl`. */
import { toCodexEntry, type CodexEntry, type CodexSource } from './codex-entry.ts';
import { callItemTypes, readCodexItem, isCodexNotice } from './codex-items.ts';
import {
  objectReader,
  openContext,
  openLineImporter,
  type MeasuredImporter,
  type ImportContext,
} from './import-context.ts';
import { addSummary } from './import-summary.ts';
import type { ImportOptions } from './importer.ts';
import type { SourcePosition } from './import-ids.ts';
import { asText, hasText, toStorable } from './import-values.ts';

export const maxHeldLines = 256;
const maxHeldChars = 16 * 1024 * 1024;

/**
 * Most of what was said stands in a rollout twice: as an item of the model's request, and as an event for the screen. The
 * first message among the items decides for the items. Until it comes, lines are held back; if it is not among the first
 * 256, the messages are taken from the events, and the calls from the items if there are any, else from the events too.
 */
export function openCodexImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('codex', options);
  let source: CodexSource | null = null;
  let held: CodexEntry[] = [];
  let heldChars = 0;

  const use = (entry: CodexEntry, from: CodexSource): void => {
    if (entry.kind === 'other') return context.log.leaveOut('lines of bookkeeping');
    if (entry.kind === 'event') return readCodexEvent(context, entry, from);
    if (entry.kind === 'compacted') return readSummary(entry);
    if (from[isMessage(entry) ? 'messages' : 'calls'] === 'items') readCodexItem(context, entry);
    else context.log.leaveOut('items that events repeat');
  };
  const readSummary = ({ payload, timestamp, place }: CodexEntry): void => {
    if (!hasText(payload['message'])) return context.log.leaveOut('lines of bookkeeping');
    addSummary(context, context.base(place, timestamp), payload['message']);
  };
  const decide = (decided: CodexSource): void => {
    source = decided;
    for (const entry of held) use(entry, decided);
    [held, heldChars] = [[], 0];
  };
  const read = (object: Record<string, unknown>, place: SourcePosition): void => {
    const entry = toCodexEntry(object, place);
    if (entry === null) return context.log.skip(place.line, 'neither an item nor an event of Codex');
    if (source !== null) return use(entry, source);
    held.push(entry);
    heldChars += place.text.length;
    if (isMessage(entry)) decide({ messages: 'items', calls: 'items' });
    else if (held.length >= maxHeldLines || heldChars >= maxHeldChars) decide(toSource(held));
  };
  const end = (): void => {
    if (source === null) decide(toSource(held));
  };
  const line = objectReader(context, read);
  return openLineImporter(context, { line, end, title: () => null, heldLines: () => held.length });
}

/** There is no message among the items. */
function toSource(held: readonly CodexEntry[]): CodexSource {
  const hasCalls = held.some(({ kind, payload }) => kind === 'item' && isCall(payload));
  return { messages: 'events', calls: hasCalls ? 'items' : 'events' };
}

function isCall(payload: Record<string, unknown>): boolean {
  return callItemTypes.includes(asText(payload['type']) ?? '');
}

function isMessage({ kind, payload }: CodexEntry): boolean {
  return kind === 'item' && payload['type'] === 'message';
}

/** Reads the events of a Codex rollout: what was shown on the screen. */
function readCodexEvent(context: ImportContext, entry: CodexEntry, wanted: CodexSource): void {
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

/** Turns that were taken back were said as well. */
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
