/** Reads Claude Code's lines one by one, and adds each line's content to the context's units. */
import { ownEntrypoint } from '../../conversation/logs/agent-records.ts';
import { addSummary, interruptionNote, type LineContext } from '../../conversation/logs/import-context.ts';
import { toOutput, toText, toClaudeUsage } from '../../conversation/logs/import-content.ts';
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import { asText, fieldsOf, hasText, isObject, toStorable } from '../../conversation/records/import-values.ts';

type Fields = Record<string, unknown>;

/** `hasBegun`: other lines come before this line. */
export function readClaudeLine(context: LineContext, object: Fields, place: SourcePosition, hasBegun: boolean): void {
  const { type } = object;
  if (type === 'attachment') readAttachment(context, object, place);
  else if (type === 'assistant') readAnswer(context, object, place);
  else if (object['isCompactSummary'] === true) readSummary(context, object, place, hasBegun);
  else readUser(context, object, place);
}

function isOfProgram(object: Fields): boolean {
  return object['isMeta'] === true || fieldsOf(object['origin'])['kind'] === 'task-notification';
}

export type ClaudeTitles = Partial<Record<string, string>>;

export function claudeTitle(titles: ClaudeTitles): string | null {
  return titles['custom-title'] ?? titles['ai-title'] ?? titles['summary'] ?? null;
}

/** Keeps a title. The user's own title takes precedence; otherwise, the last title of a kind counts. */
export function keepClaudeTitle(titles: ClaudeTitles, object: Fields): boolean {
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

function readAnswer(context: LineContext, object: Fields, place: SourcePosition): void {
  const message = fieldsOf(object['message']);
  const { content } = message;
  const answer = hasText(message['id']) ? message['id'] : null;
  if (object['isApiErrorMessage'] === true) return addNote(context, object, place, toText(content, context.log));
  if (message['model'] === '<synthetic>' && object['entrypoint'] !== ownEntrypoint)
    return context.log.leaveOut('notices of the program');
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  if (!Array.isArray(blocks)) return context.log.skip(place.line, 'an answer without content');
  for (const block of blocks) readAnswerBlock(context, { object, place, answer }, fieldsOf(block));
  if (isObject(message['usage'])) context.units.usage(answer, toClaudeUsage(message['model'], message['usage']));
}

interface AnswerLine {
  object: Fields;
  place: SourcePosition;
  answer: string | null;
}

function readAnswerBlock(context: LineContext, { object, place, answer }: AnswerLine, block: Fields): void {
  const { log, units } = context;
  const type = asText(block['type']) ?? '';
  const base = () => context.base(place, object['timestamp'], object['uuid']);
  if (type.endsWith('thinking')) {
    // Some providers do not reveal the words.
    if (!hasText(block['thinking'])) return log.leaveOut('thoughts without words');
    return units.think(answer, { type: 'thinking', ...base(), text: block['thinking'] });
  }
  if (type.endsWith('tool_use')) {
    const { id, name, input } = block;
    const [callId, tool_name] = [asText(id) ?? '', asText(name) ?? ''];
    const call = { tool_call_id: callId, tool_name, tool_input: toStorable(input ?? {}) };
    return units.call(answer, callId, { type: 'tool_use', ...base(), ...call }, place);
  }
  if (type.endsWith('tool_result')) return readResult(context, object, place, block);
  const text = toText([block], log);
  // The program's placeholder for an answer without text.
  if (!hasText(text) || text === '(no content)') return log.leaveOut('empty texts');
  const said = { ...base(), message: { role: 'assistant' as const, content: text }, source: context.source };
  const isPartial = object['isAbortedMidStream'] === true;
  units.say(answer, isPartial ? { type: 'assistant_partial', ...said } : { type: 'assistant', ...said });
}

function readUser(context: LineContext, object: Fields, place: SourcePosition): void {
  const { content } = fieldsOf(object['message']);
  const blocks = Array.isArray(content) ? content : [content];
  const results = blocks.map(fieldsOf).filter(isResult);
  for (const block of results) readResult(context, object, place, block);
  const said = blocks.filter((block) => !isResult(fieldsOf(block)));
  if (said.length === 0) return;
  if (readTask(context, object, place, said)) return;
  if (isOfProgram(object)) return context.log.leaveOut('notices of the program');
  readSaid(context, object, place, said);
}

function readSaid(context: LineContext, object: Fields, place: SourcePosition, said: readonly unknown[]): void {
  const { log, units } = context;
  const texts = said.map((block) => toText(typeof block === 'string' ? block : [block], log)).filter(hasText);
  if (texts.some(isInterruption)) {
    units.interrupt({
      type: 'note',
      ...context.base(place, object['timestamp'], object['uuid']),
      text: interruptionNote,
    });
  }
  const spoken = texts.filter((text) => !isNotice(text) && !isInterruption(text));
  if (spoken.length === 1 && isLocalCommand(spoken[0] ?? ''))
    return addNote(context, object, place, `The user ran ${toCommand(spoken[0] ?? '')}.`);
  if (spoken.length > 0) return addMessage(context, object, place, spoken.map(toCommand).join('\n\n'));
  if (texts.some(isNotice)) log.leaveOut('notices of the program');
  else if (texts.length === 0) log.skip(place.line, 'a message without content');
}

/** Reads the words that the user typed while the model worked, which appear nowhere else. */
function readAttachment(context: LineContext, object: Fields, place: SourcePosition): void {
  const { type, prompt, commandMode } = fieldsOf(object['attachment']);
  const said = Array.isArray(prompt) ? prompt : [prompt];
  if (type === 'queued_command' && (commandMode ?? 'prompt') === 'prompt')
    return readSaid(context, object, place, said);
  if (type !== 'queued_command' || !readTask(context, object, place, said))
    context.log.leaveOut('lines of bookkeeping');
}

/** Reads the end of a background task, which the program reports in the user's name. */
function readTask(context: LineContext, object: Fields, place: SourcePosition, said: readonly unknown[]): boolean {
  const text = said.map((block) => asText(block) ?? asText(fieldsOf(block)['text']) ?? '').join('\n\n');
  if (!text.trim().startsWith('<task-notification>')) return false;
  const [task, state] = [tagged(text, 'task-id'), tagged(text, 'status')];
  const [summary, result] = [tagged(text, 'summary'), tagged(text, 'result')];
  const name = [`The background task${task === '' ? '' : ` ${task}`} reports`, state].filter(hasText).join(': ');
  const words = [`${name}.`, summary, result].filter(hasText);
  addNote(context, object, place, (words.length === 1 ? [`${name}.`, text] : words).join('\n\n'));
  return true;
}

function readSummary(context: LineContext, object: Fields, place: SourcePosition, hasBegun: boolean): void {
  const text = toText(fieldsOf(object['message'])['content'], context.log);
  if (!hasText(text)) return context.log.leaveOut('empty texts');
  if (!hasBegun) return addMessage(context, object, place, text);
  addSummary(context, context.base(place, object['timestamp'], object['uuid']), text);
}

function addMessage(context: LineContext, object: Fields, place: SourcePosition, content: string): void {
  const base = context.base(place, object['timestamp'], object['uuid']);
  context.units.message({ type: 'user', ...base, message: { role: 'user', content }, source: context.source });
}

function addNote(context: LineContext, object: Fields, place: SourcePosition, text: string): void {
  context.units.aside({ type: 'note', ...context.base(place, object['timestamp'], object['uuid']), text });
}

function isResult(block: Fields): boolean {
  return asText(block['type'])?.endsWith('tool_result') ?? false;
}

function readResult(context: LineContext, object: Fields, place: SourcePosition, block: Fields): void {
  const base = context.base(place, object['timestamp'], object['uuid']);
  const isError = block['is_error'] === true;
  const reason = isError && isDenied(object) ? { reason: 'denied' as const } : {};
  const result = { ...base, output: toOutput(block['content'], context.log), is_error: isError, ...reason };
  context.units.result(asText(block['tool_use_id']) ?? '', result, place);
}

/** Returns true if a person, a rule or a hook did not let the tool run. */
function isDenied(object: Fields): boolean {
  const { toolDenialKind, permissionDecision, toolUseResult } = object;
  if (hasText(toolDenialKind) || fieldsOf(permissionDecision)['decision'] === 'reject') return true;
  const words = asText(toolUseResult) ?? '';
  return words === 'User rejected tool use' || /^Error: (?:PreToolUse:|Claude requested permissions)/.test(words);
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
 * Returns true if Claude Code, and not the user, wrote the user's message: the whole text is inside one of the
 * program's own tags.
 */
function isNotice(text: string): boolean {
  const trimmed = text.trim();
  return noticeTags.some((tag) => trimmed.startsWith(`<${tag}>`) && trimmed.endsWith(`</${tag}>`));
}

function isInterruption(text: string): boolean {
  return /^\[Request interrupted by user(?: for tool use)?\]$/.test(text.trim());
}

/** Returns true if the program itself runs the command, so that the model does not answer. */
function isLocalCommand(text: string): boolean {
  return /^\s*<command-(?:name|message)>/.test(text) && /^\/(?:compact|clear)(?: |$)/.test(toCommand(text));
}

/** Returns a slash command as the user typed it, and any other text unchanged. */
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
