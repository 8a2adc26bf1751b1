/** Reads teddy's own transcript lines, and those of other programs that write the same ones. */
import { splitContent } from './content-calls.ts';
import { decodeTranscript } from './decode-transcript.ts';
import { openContext, openLineImporter, type ImportContext, type MeasuredImporter } from './import-context.ts';
import type { ImportOptions } from './importer.ts';
import type { Place } from './import-ids.ts';
import type { AssistantRecord, KnownRecord, PartialRecord, TranscriptRecord, UserRecord } from './record.ts';
import { hasText, toStorable } from './import-values.ts';

/** Voice stays voice, and a front end's records stay what they are; everything else comes from an `import`. */
export function openJsonlImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('jsonl', options);
  const line = (place: Place): void => {
    const { records, skipped, mended } = decodeTranscript(place.text, splitContent);
    for (const { reason } of skipped) context.log.skip(place.line, reason);
    for (const { reason } of mended) context.log.repair(place.line, reason);
    for (const record of records) read(context, record, place);
  };
  return openLineImporter(context, { line, title: () => null });
}

function read(context: ImportContext, record: TranscriptRecord, place: Place): void {
  if (record.type === 'other') return context.log.leaveOut('records of an unknown type');
  if (!isFirst(context, record, place)) return context.log.leaveOut('repeated records');
  const base = context.base(place, record.timestamp, record.id);
  if (record.id !== '' && base.id !== record.id)
    context.log.repair(place.line, `record ${record.id.slice(0, 60)} has the id of another: it got a new one`);
  readRecord(context, { ...record, ...base }, place);
}

/** The same id on the same line was said once; on another line it is something else. */
function isFirst({ ids }: ImportContext, { id, type }: KnownRecord, place: Place): boolean {
  return id === '' || ids.isNew(`${type} ${id} ${ids.digestOf(place)}`);
}

function readRecord(context: ImportContext, record: KnownRecord, place: Place): void {
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
    case 'voice_interrupted':
    case 'orchestrator_meta':
      return units.aside({ ...record, details: toDetails(record.details) });
  }
}

function readSaid(context: ImportContext, record: UserRecord | AssistantRecord | PartialRecord, place: Place): void {
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
