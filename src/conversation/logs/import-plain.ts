/** Imports conversations that no agent logged: messages in the format of OpenAI's API, and teddy's own transcripts. */
import { openLines, type SourceLine } from './import-lines.ts';
import type { ImportOptions } from './importer.ts';
import { toImporter, openContext, type MeasuredImporter, type ImportContext } from './import-context.ts';
import { type SourcePosition, toPlace } from '../records/import-ids.ts';
import { asText, hasText, isObject, parseJson, toStorable } from '../records/import-values.ts';
import { openJsonElements, type JsonPart } from './json-elements.ts';
import { readOpenaiMessage } from './openai-messages.ts';
import { splitContent } from '../records/content-calls.ts';
import { decodeTranscript } from '../history/decode-transcript.ts';
import type { TranscriptRecord, KnownRecord, UserRecord, AssistantRecord, PartialRecord } from '../records/record.ts';

/** The members to remember from the object around the messages, or from an object that is itself a message. */
interface Members {
  texts: string[];
  chars: number;
}

const maxMemberChars = 64 * 1024 * 1024;

/**
 * Reads a document of any size while holding only one message at a time. A truncated document yields all its whole
 * messages.
 */
export function openOpenaiImporter(options: ImportOptions): MeasuredImporter {
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
    context.log.readLine();
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
    context.log.readLine();
    context.log.skip(number, 'longer than a message can be');
  };
  const read = (part: JsonPart): void => {
    if (part.kind === 'element') readElement(part.text);
    else if (part.kind === 'member') readMember(part.text);
    else if (part.kind === 'object') readObject(part.hadElements);
    else tooLong();
  };
  return toImporter(context, {
    push: (text) => elements.push(text).forEach(read),
    end: () => elements.end().forEach(read),
    title: () => around.title,
  });
}

/** Keeps the source of voice records and of a front end's records; sets the source of everything else to `import`. */
export function openJsonlImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('jsonl', options);
  const cutter = openLines();
  const readLine = ({ number, text }: SourceLine): void => {
    context.log.readLine();
    if (text === null) return context.log.skip(number, 'longer than a line can be');
    const place = toPlace(number, text);
    const { records, skipped, repaired } = decodeTranscript(text, splitContent);
    for (const { reason } of skipped) context.log.skip(place.line, reason);
    for (const { reason } of repaired) context.log.repair(place.line, reason);
    for (const record of records) read(context, record, place);
  };
  return toImporter(context, {
    push: (text) => cutter.push(text).forEach(readLine),
    end: () => cutter.end().forEach(readLine),
    title: () => null,
  });
}

function read(context: ImportContext, record: TranscriptRecord, place: SourcePosition): void {
  if (record.type === 'other') return context.log.leaveOut('records of an unknown type');
  if (!isFirst(context, record, place)) return context.log.leaveOut('repeated records');
  const base = context.base(place, record.timestamp, record.id);
  if (record.id !== '' && base.id !== record.id)
    context.log.repair(place.line, `record ${record.id.slice(0, 60)} has the id of another: it got a new one`);
  readRecord(context, { ...record, ...base }, place);
}

/** A repeated ID on the same line is a repeat; on another line, it belongs to a different record. */
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
    log.repair(place.line, `the text is in ${record.message.file.slice(0, 60)}, which is not part of the source`);
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
