/** Reads the sessions of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`. */
import {
  objectReader,
  openContext,
  openLineImporter,
  type ImportContext,
  type MeasuredImporter,
} from './import-context.ts';
import { toOutput, toText } from './import-content.ts';
import { addSummary } from './import-summary.ts';
import type { ImportOptions } from './importer.ts';
import type { SourcePosition } from './import-ids.ts';
import { openRewindFinder, type RewindFinder } from './rewinds.ts';
import { asText, fieldsOf, hasText, toStorable } from './import-values.ts';

type Fields = Record<string, unknown>;

/**
 * Lines are read in the order in which they stand. What the user took back (`/rewind`) stands there as well: the importer finds
 * it, and reads the part of the log that it is asked for. Side chains (the conversations of subagents) are left out, but a log of nothing else is a session of its own. A summary that the program wrote when
 * it compacted the conversation is marked as one, unless nothing stands before it: then it is all that is left of what was said, and
 * becomes the user's message.
 */
export function openClaudeCodeImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('claude-code', options);
  const titles: Partial<Record<string, string>> = {};
  let hasBegun = false;
  let isSubagent: boolean | null = null;
  const { part } = options;
  const finder = part === undefined ? openRewindFinder() : null;
  const read = (object: Fields, place: SourcePosition): void => {
    const { type, uuid } = object;
    if (part?.takes(place.line, uuid ?? null) === false) return;
    if (typeof type !== 'string') return context.log.skip(place.line, 'an object without a type');
    if (keepTitle(titles, object)) return context.log.leaveOut('titles');
    // A log that begins with a side chain is that of a subagent: in the log of a session somebody speaks before it.
    if (type === 'user' || type === 'assistant') isSubagent ??= object['isSidechain'] === true;
    if (object['isSidechain'] !== true || isSubagent === true) addToTree(finder, object, place);
    if (!['user', 'assistant', 'attachment'].includes(type)) return context.log.leaveOut('lines of bookkeeping');
    if (object['isSidechain'] === true && isSubagent !== true) return context.log.leaveOut('lines of side chains');
    // A session that was resumed or forked repeats what it continues.
    if (hasText(uuid) && !context.ids.isNew(`line ${uuid}`)) return context.log.leaveOut('repeated lines');
    if (type === 'attachment') readAttachment(context, object, place);
    else if (type === 'assistant') readAnswer(context, object, place);
    else if (object['isCompactSummary'] === true) readSummary(context, object, place, hasBegun);
    else readUser(context, object, place);
    hasBegun ||= type !== 'attachment' && object['isMeta'] !== true;
  };
  const title = () => titles['custom-title'] ?? titles['ai-title'] ?? titles['summary'] ?? null;
  const readLine = objectReader(context, read);
  const line = (place: SourcePosition): void => (part?.takes(place.line) === false ? undefined : readLine(place));
  const importer = openLineImporter(context, { line, title });
  return finder === null ? importer : { ...importer, rewinds: finder.find };
}

function addToTree(finder: RewindFinder | null, object: Fields, { line }: SourcePosition): void {
  const { type, uuid, parentUuid, logicalParentUuid } = object;
  if (finder === null || !hasText(uuid)) return;
  const named = parentUuid === null ? (logicalParentUuid ?? null) : parentUuid;
  const parent = named === null || hasText(named) ? named : undefined;
  const isSpoken = type === 'user' || type === 'assistant';
  finder.add({ line, uuid, parent, isPrompt: type === 'user' && isPrompt(object), isSpoken });
}

/** The user typed it: no result, no notice and no mark of the program's. */
function isPrompt(object: Fields): boolean {
  if (isOfProgram(object) || object['isCompactSummary'] === true) return false;
  const { content } = fieldsOf(object['message']);
  const blocks = Array.isArray(content) ? content : [content];
  if (blocks.some((block) => isResult(fieldsOf(block)))) return false;
  return blocks.some((block) => {
    const text = asText(block) ?? asText(fieldsOf(block)['text']);
    if (text === undefined) return hasText(fieldsOf(block)['type']);
    return hasText(text) && !isNotice(text) && !isInterruption(text);
  });
}

function isOfProgram(object: Fields): boolean {
  return object['isMeta'] === true || fieldsOf(object['origin'])['kind'] === 'task-notification';
}

/** The user's own title counts most; of each kind the last. */
function keepTitle(titles: Partial<Record<string, string>>, object: Fields): boolean {
  const fields: Partial<Record<string, string>> = {
    summary: 'summary',
    'custom-title': 'customTitle',
    'ai-title': 'aiTitle',
  };
  const type = String(object['type']);
  const title = Object.hasOwn(fields, type) ? object[fields[type] ?? ''] : undefined;
  if (hasText(title)) titles[type] = title.trim();
  return hasText(title);
}

function readAnswer(context: ImportContext, object: Fields, place: SourcePosition): void {
  const message = fieldsOf(object['message']);
  const { content } = message;
  const answer = hasText(message['id']) ? message['id'] : null;
  if (object['isApiErrorMessage'] === true) return addNote(context, object, place, toText(content, context.log));
  if (message['model'] === '<synthetic>') return context.log.leaveOut('notices of the program');
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  if (!Array.isArray(blocks)) return context.log.skip(place.line, 'an answer without content');
  for (const block of blocks) readAnswerBlock(context, { object, place, answer }, fieldsOf(block));
}

interface AnswerLine {
  object: Fields;
  place: SourcePosition;
  answer: string | null;
}

function readAnswerBlock(context: ImportContext, { object, place, answer }: AnswerLine, block: Fields): void {
  const { log, units } = context;
  const type = asText(block['type']) ?? '';
  if (type.endsWith('thinking')) return log.leaveOut('thoughts');
  const base = () => context.base(place, object['timestamp'], object['uuid']);
  if (type.endsWith('tool_use')) {
    const { id, name, input } = block;
    const [callId, tool_name] = [asText(id) ?? '', asText(name) ?? ''];
    const call = { tool_call_id: callId, tool_name, tool_input: toStorable(input ?? {}) };
    return units.call(answer, callId, { type: 'tool_use', ...base(), ...call }, place);
  }
  if (type.endsWith('tool_result')) return readResult(context, object, place, block);
  const text = toText([block], log);
  // The program's stand-in for an answer without a text.
  if (!hasText(text) || text === '(no content)') return log.leaveOut('empty texts');
  const message = { role: 'assistant' as const, content: text };
  units.say(answer, { type: 'assistant', ...base(), message, source: 'import' });
}

function readUser(context: ImportContext, object: Fields, place: SourcePosition): void {
  const { content } = fieldsOf(object['message']);
  const blocks = Array.isArray(content) ? content : [content];
  const results = blocks.map(fieldsOf).filter(isResult);
  for (const block of results) readResult(context, object, place, block);
  const said = blocks.filter((block) => !isResult(fieldsOf(block)));
  if (said.length === 0) return;
  if (isOfProgram(object)) return context.log.leaveOut('notices of the program');
  readSaid(context, object, place, said);
}

function readSaid(context: ImportContext, object: Fields, place: SourcePosition, said: readonly unknown[]): void {
  const { log, units } = context;
  const texts = said.map((block) => toText(typeof block === 'string' ? block : [block], log)).filter(hasText);
  if (texts.some(isInterruption)) {
    units.interrupt();
    log.leaveOut('marks of an interruption');
  }
  const spoken = texts.filter((text) => !isNotice(text) && !isInterruption(text));
  if (spoken.length > 0) return addMessage(context, object, place, spoken.map(toCommand).join('\n\n'));
  if (texts.some(isNotice)) log.leaveOut('notices of the program');
  else if (texts.length === 0) log.skip(place.line, 'a message without content');
}

/** The user said this while the model worked: it stands nowhere else. */
function readAttachment(context: ImportContext, object: Fields, place: SourcePosition): void {
  const { type, prompt, commandMode } = fieldsOf(object['attachment']);
  if (type !== 'queued_command' || (commandMode ?? 'prompt') !== 'prompt')
    return context.log.leaveOut('lines of bookkeeping');
  readSaid(context, object, place, Array.isArray(prompt) ? prompt : [prompt]);
}

function readSummary(context: ImportContext, object: Fields, place: SourcePosition, hasBegun: boolean): void {
  const text = toText(fieldsOf(object['message'])['content'], context.log);
  if (!hasText(text)) return context.log.leaveOut('empty texts');
  if (!hasBegun) return addMessage(context, object, place, text);
  addSummary(context, context.base(place, object['timestamp'], object['uuid']), text);
}

function addMessage(context: ImportContext, object: Fields, place: SourcePosition, content: string): void {
  const base = context.base(place, object['timestamp'], object['uuid']);
  context.units.message({ type: 'user', ...base, message: { role: 'user', content }, source: 'import' });
}

function addNote(context: ImportContext, object: Fields, place: SourcePosition, text: string): void {
  context.units.aside({ type: 'note', ...context.base(place, object['timestamp'], object['uuid']), text });
}

function isResult(block: Fields): boolean {
  return asText(block['type'])?.endsWith('tool_result') ?? false;
}

function readResult(context: ImportContext, object: Fields, place: SourcePosition, block: Fields): void {
  const base = context.base(place, object['timestamp'], object['uuid']);
  const result = { ...base, output: toOutput(block['content'], context.log), is_error: block['is_error'] === true };
  context.units.result(asText(block['tool_use_id']) ?? '', result, place);
}

const noticeTags = [
  'system-reminder',
  'local-command-stdout',
  'local-command-stderr',
  'local-command-caveat',
  'task-notification',
  'ide_opened_file',
  'ide_selection',
];

/**
 * What Claude Code writes into a user's message that the user has not said. The whole text stands in one of the
 * program's own tags.
 */
function isNotice(text: string): boolean {
  const trimmed = text.trim();
  return noticeTags.some((tag) => trimmed.startsWith(`<${tag}>`) && trimmed.endsWith(`</${tag}>`));
}

function isInterruption(text: string): boolean {
  return /^\[Request interrupted by user(?: for tool use)?\]$/.test(text.trim());
}

/** A slash command as the user typed it; any other text as it is. */
function toCommand(text: string): string {
  if (!/^\s*<command-(?:name|message)>/.test(text)) return text;
  const name = tagged(text, 'command-name');
  if (name === '') return text;
  return `${name.startsWith('/') ? name : `/${name}`} ${tagged(text, 'command-args')}`.trim();
}

function tagged(text: string, tag: string): string {
  const start = text.indexOf(`<${tag}>`);
  const end = text.indexOf(`</${tag}>`, start);
  return start === -1 || end === -1 ? '' : text.slice(start + tag.length + 2, end).trim();
}
