/** The state shared by all readers of foreign conversations. */
import type { Importer, ImportOptions, ImportUnit } from './importer.ts';
import { openImportIds, type ImportIds, type SourcePosition } from '../records/import-ids.ts';
import { openImportLog, type ImportLog } from './import-report.ts';
import { openUnits, type ImportUnits, type UnitRecords } from './import-units.ts';
import { summarySource, type RecordSource } from '../records/record.ts';
import { toTimestamp } from '../records/import-values.ts';

/** The state for readers of lines, for imported or followed logs. */
export interface LineContext {
  ids: ImportIds;
  log: ImportLog;
  units: UnitRecords;
  /** The source of every record. */
  source: RecordSource;
  /** Returns a record's `id` and `timestamp`, taken from the source if usable. */
  base(place: SourcePosition, timestamp: unknown, sourceId?: unknown): { id: string; timestamp: string };
}

export interface ImportContext extends LineContext {
  units: ImportUnits;
}

export const interruptionNote = 'The user interrupted the model here.';

/** An importer that reports how many records and lines it has in memory; the number stays bounded for every source. */
export interface MeasuredImporter extends Importer {
  held(): number;
}

export function openContext(format: string, { hash, importedAt }: ImportOptions): ImportContext {
  const log = openImportLog();
  const ids = openImportIds(format, hash);
  return { ids, log, units: openUnits(log, ids), source: 'import', base: toBase(ids, importedAt) };
}

/** Fills `lines` with the line number of each new ID. */
export function toBase(ids: ImportIds, importedAt: string, lines?: Map<string, number>): LineContext['base'] {
  return (place, timestamp, sourceId) => {
    const id = ids.idFor(place, sourceId);
    lines?.set(id, place.line);
    return { id, timestamp: toTimestamp(timestamp) ?? importedAt };
  };
}

/**
 * Adds the summary that a program wrote when it compacted the conversation. The summary's text states that the
 * conversation is above it, and it does not answer any message.
 */
export function addSummary({ units }: LineContext, base: { id: string; timestamp: string }, text: string): void {
  const content = `[The conversation was compacted here. The summary of what stands above:]\n\n${text}`;
  units.say(null, { type: 'assistant', ...base, message: { role: 'assistant', content }, source: summarySource });
}

/** `push` and `end` read the source into the context's units. */
export function toImporter(
  context: ImportContext,
  source: { push(text: string): void; end(): void; title(): string | null },
): MeasuredImporter {
  const take = (): ImportUnit[] => {
    const units = context.units.take();
    context.log.give(units);
    return units;
  };
  return {
    push: (text) => {
      source.push(text);
      return take();
    },
    end: () => {
      source.end();
      context.units.close();
      return take();
    },
    report: context.log.report,
    title: source.title,
    held: context.units.heldRecords,
  };
}
