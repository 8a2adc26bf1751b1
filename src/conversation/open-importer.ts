/** Chooses the importer of a format. */
import { agentForms } from './agent-forms.ts';
import type { ImportFormat, ImportOptions } from './importer.ts';
import { claudeTitle, isClaudePrompt, keepClaudeTitle, readClaudeLine, type ClaudeTitles } from './claude-lines.ts';
import { toCodexEntry } from './codex-entry.ts';
import { openCodexReader } from './codex-lines.ts';
import {
  toImporter,
  openContext,
  type MeasuredImporter,
  objectReader,
  openLineImporter,
  type ImportContext,
} from './import-context.ts';
import { type SourcePosition, toPlace } from './import-ids.ts';
import { asText, hasText, isObject, parseJson, toStorable } from './import-values.ts';
import { openJsonElements, type JsonPart } from './json-elements.ts';
import { readOpenaiMessage } from './openai-messages.ts';
import { splitContent } from './content-calls.ts';
import { decodeTranscript } from './decode-transcript.ts';
import { openRewindFinder, type RewindFinder } from './rewinds.ts';
import type { TranscriptRecord, KnownRecord, UserRecord, AssistantRecord, PartialRecord } from './record.ts';

const openers: Record<ImportFormat, (options: ImportOptions) => MeasuredImporter> = {
  'claude-code': openClaudeCodeImporter,
  codex: openCodexImporter,
  openai: openOpenaiImporter,
  jsonl: openJsonlImporter,
};

export function openImporter(format: ImportFormat, options: ImportOptions): MeasuredImporter {
  return openers[format](options);
}

/**
 * Reads the sessions of Claude Code, `~/.claude/projects/<project>/<session>.jsonl`. Lines are read in the order in which they stand. What the user took back (`/rewind`) stands there as well: the importer finds
 * it, and reads the part of the log that it is asked for. Side chains (the conversations of subagents) are left out, but a log of nothing else is a session of its own. A summary that the program wrote when
 * it compacted the conversation is marked as one, unless nothing stands before it: then it is all that is left of what was said, and
 * becomes the user's message.
 */
function openClaudeCodeImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('claude-code', options);
  const titles: ClaudeTitles = {};
  let hasBegun = false;
  let isSubagent: boolean | null = null;
  const { part } = options;
  const finder = part === undefined ? openRewindFinder() : null;
  const read = (object: Record<string, unknown>, place: SourcePosition): void => {
    const { type, uuid } = object;
    if (part?.takes(place.line, uuid ?? null) === false) return;
    if (typeof type !== 'string') return context.log.skip(place.line, 'an object without a type');
    if (keepClaudeTitle(titles, object)) return context.log.leaveOut('titles');
    // A log that begins with a side chain is that of a subagent: in the log of a session somebody speaks before it.
    if (type === 'user' || type === 'assistant') isSubagent ??= object['isSidechain'] === true;
    if (object['isSidechain'] !== true || isSubagent === true) addToTree(finder, object, place);
    if (!['user', 'assistant', 'attachment'].includes(type)) return context.log.leaveOut('lines of bookkeeping');
    if (object['isSidechain'] === true && isSubagent !== true) return context.log.leaveOut('lines of side chains');
    // A session that was resumed or forked repeats what it continues.
    if (hasText(uuid) && !context.ids.isNew('line', uuid)) return context.log.leaveOut('repeated lines');
    readClaudeLine(context, object, place, hasBegun);
    hasBegun ||= type !== 'attachment' && object['isMeta'] !== true;
  };
  const readLine = objectReader(context, agentForms['claude-code'], read);
  const line = (place: SourcePosition): void => (part?.takes(place.line) === false ? undefined : readLine(place));
  const importer = openLineImporter(context, { line, title: () => claudeTitle(titles) });
  return finder === null ? importer : { ...importer, rewinds: finder.find };
}

function addToTree(finder: RewindFinder | null, object: Record<string, unknown>, { line }: SourcePosition): void {
  const { type, uuid, parentUuid, logicalParentUuid } = object;
  if (finder === null || !hasText(uuid)) return;
  const named = parentUuid === null ? (logicalParentUuid ?? null) : parentUuid;
  const parent = named === null || hasText(named) ? named : undefined;
  const isSpoken = type === 'user' || type === 'assistant';
  finder.add({ line, uuid, parent, isPrompt: type === 'user' && isClaudePrompt(object), isSpoken });
}

/** The members to keep of the object around the messages, or of one that is a message itself. */
interface Members {
  texts: string[];
  chars: number;
}

const maxMemberChars = 64 * 1024 * 1024;

/** Reads a document of any size; it holds no more of it than one message. Of a document that is cut off, all whole messages come. */
function openOpenaiImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('openai', options);
  const elements = openJsonElements();
  const around: { title: string | null; created: unknown } = { title: null, created: undefined };
  const members: Members = { texts: [], chars: 0 };
  let number = 0;
  let answers = 0;

  const readMessage = (value: unknown, place: SourcePosition): void => {
    const messages = isObject(value) && Array.isArray(value['messages']) ? value['messages'] : [value];
    for (const message of messages) {
      answers += 1;
      readOpenaiMessage(context, message, { place, answer: String(answers), created: around.created });
    }
  };
  const readElement = (text: string): void => {
    members.texts = [];
    number += 1;
    context.log.readLine(number);
    const value = parseJson(text);
    if (value === undefined) context.log.skip(number, 'not JSON, or cut off');
    else readMessage(value, toPlace(number, text));
  };
  const readMember = (text: string): void => {
    members.chars += text.length;
    if (members.chars <= maxMemberChars) members.texts.push(text);
    const value = text.length < 10_000 ? parseJson(`{${text}}`) : undefined;
    if (!isObject(value)) return;
    around.title ??= [value['title'], value['name']].map(asText).find(hasText) ?? null;
    around.created = value['created'] ?? value['created_at'] ?? around.created;
  };
  const readObject = (hadElements: boolean): void => {
    const [text, chars] = [`{${members.texts.join(',')}}`, members.chars];
    Object.assign(members, { texts: [], chars: 0 });
    if (hadElements) return;
    if (chars > maxMemberChars) tooLong();
    else readElement(text);
  };
  const tooLong = (): void => {
    number += 1;
    context.log.readLine(number);
    context.log.skip(number, 'longer than a message can be');
  };
  const read = (part: JsonPart): void => {
    if (part.kind === 'element') readElement(part.text);
    else if (part.kind === 'member') readMember(part.text);
    else if (part.kind === 'object') readObject(part.hadElements);
    else tooLong();
  };
  const reader = { title: () => around.title };
  return toImporter(
    context,
    reader,
    (text) => elements.push(text).forEach(read),
    () => elements.end().forEach(read),
  );
}

/** Reads the rollouts of Codex: `~/.codex/sessions/<date>/rollout-<time>-<id>.jsonl`. */
function openCodexImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('codex', options);
  const reader = openCodexReader(context, {});
  const line = objectReader(context, agentForms.codex, (object, place) => {
    const entry = toCodexEntry(object, place);
    if (entry === null) context.log.skip(place.line, 'neither an item nor an event of Codex');
    else reader.read(entry);
  });
  return openLineImporter(context, { line, end: reader.decide, title: () => null, heldLines: reader.heldLines });
}

/** Voice stays voice, and a front end's records stay what they are; everything else comes from an `import`. */
function openJsonlImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('jsonl', options);
  const line = (place: SourcePosition): void => {
    const { records, skipped, mended } = decodeTranscript(place.text, splitContent);
    for (const { reason } of skipped) context.log.skip(place.line, reason);
    for (const { reason } of mended) context.log.repair(place.line, reason);
    for (const record of records) read(context, record, place);
  };
  return openLineImporter(context, { line, title: () => null });
}

function read(context: ImportContext, record: TranscriptRecord, place: SourcePosition): void {
  if (record.type === 'other') return context.log.leaveOut('records of an unknown type');
  if (!isFirst(context, record, place)) return context.log.leaveOut('repeated records');
  const base = context.base(place, record.timestamp, record.id);
  if (record.id !== '' && base.id !== record.id)
    context.log.repair(place.line, `record ${record.id.slice(0, 60)} has the id of another: it got a new one`);
  readRecord(context, { ...record, ...base }, place);
}

/** The same id on the same line was said once; on another line it is something else. */
function isFirst({ ids }: ImportContext, { id, type }: KnownRecord, place: SourcePosition): boolean {
  return id === '' || ids.isNew(type, id, ids.digestOf(place).slice(0, 32));
}

function readRecord(context: ImportContext, record: KnownRecord, place: SourcePosition): void {
  const { units } = context;
  switch (record.type) {
    case 'user':
    case 'assistant':
    case 'assistant_partial':
      return readSaid(context, record, place);
    case 'tool_use': {
      const use = { ...record, tool_input: toStorable(record.tool_input ?? {}) };
      return units.call(null, record.tool_call_id, use, place);
    }
    case 'tool_result':
      return units.result(record.tool_call_id, { ...record, output: toStorable(record.output ?? '') }, place);
    case 'note':
      return units.aside(record);
    case 'thinking':
      return hasText(record.text) ? units.think(null, record) : context.log.leaveOut('empty texts');
    case 'voice_interrupted':
    case 'orchestrator_meta':
      return units.aside({ ...record, details: toDetails(record.details) });
    case 'plan':
    case 'approval':
      return context.log.leaveOut('records of plans and verdicts');
  }
}

function readSaid(
  context: ImportContext,
  record: UserRecord | AssistantRecord | PartialRecord,
  place: SourcePosition,
): void {
  const { log, units } = context;
  if ('file' in record.message) {
    log.repair(place.line, `the text stands in ${record.message.file.slice(0, 60)}, which is no part of the source`);
    const { id, timestamp } = record;
    return units.aside({
      type: 'note',
      id,
      timestamp,
      text: `Said in a file that was not imported: ${record.message.file}`,
    });
  }
  if (!hasText(record.message.content)) return log.leaveOut('empty texts');
  const source = record.source.startsWith('voice_') ? record.source : 'import';
  if (record.type === 'user') units.message({ ...record, source });
  else units.say(null, { ...record, source });
}

function toDetails(details: Record<string, unknown>): Record<string, unknown> {
  const storable = toStorable(details);
  return storable === details ? details : { dropped: storable };
}
