import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { loadImportFormats, type ImportFormat } from '../../src/agents/import-formats.ts';
import type { ImportReport, ImportUnit } from '../../src/conversation/logs/importer.ts';
import type { KnownRecord } from '../../src/conversation/records/record.ts';

export const importedAt = '2026-03-01T00:00:00.000Z';
export const importOptions = {
  hash: (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex'),
  importedAt,
};

export const { open: openImporter, detect: detectFormat } = await loadImportFormats();

export interface Imported {
  units: ImportUnit[];
  report: ImportReport;
  title: string | null;
}

export function importFixture(format: ImportFormat, name: string): Imported {
  return importText(format, readImport(name));
}

export function readImport(name: string): string {
  return readFileSync(new URL(`../../fixtures/imports/${name}`, import.meta.url), 'utf8');
}

export function importText(format: ImportFormat, text: string): Imported {
  return importPieces(format, [text]);
}

export function importLines(format: ImportFormat, lines: readonly (object | string)[]): Imported {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  return importText(format, texts.map((line) => `${line}\n`).join(''));
}

export function importPieces(format: ImportFormat, pieces: readonly string[]): Imported {
  const importer = openImporter(format, importOptions);
  const units = [...pieces.flatMap((piece) => importer.push(piece)), ...importer.end()];
  return { units, report: importer.report(), title: importer.title() };
}

/** One line for each unit, one word for each record: to compare at a glance. */
export function outline(units: readonly ImportUnit[]): string[] {
  return units.map(({ kind, records }) => `${kind}: ${records.map(inShort).join(' | ')}`);
}

function inShort(record: KnownRecord): string {
  switch (record.type) {
    case 'tool_use':
      return `call ${record.tool_name}`;
    case 'tool_result':
      return `${record.is_error ? 'error' : 'result'} ${JSON.stringify(record.output)}`;
    case 'note':
    case 'thinking':
      return `${record.type} ${record.text}`;
    case 'voice_interrupted':
    case 'orchestrator_meta':
    case 'plan':
    case 'approval':
      return record.type;
    default:
      return `${record.type} ${'content' in record.message ? record.message.content : record.message.file}`;
  }
}

/** Finds faults in units, one sentence each; empty if they keep an importer's contract. */
export function faultsOf(units: readonly ImportUnit[]): string[] {
  const ids = units.flatMap(({ records }) => records.map(({ id }) => id));
  const callIds = units.flatMap(({ records }) =>
    records.flatMap((r) => (r.type === 'tool_use' ? [r.tool_call_id] : [])),
  );
  return [
    ...(new Set(ids).size === ids.length && !ids.includes('') ? [] : ['an id is empty or not unique']),
    ...(new Set(callIds).size === callIds.length && !callIds.includes('') ? [] : ['a call id is empty or not unique']),
    ...units.flatMap(({ records }) =>
      records.filter(({ timestamp }) => !/^\d{4}-.*Z$/.test(timestamp)).map(({ type }) => `${type} without a time`),
    ),
    ...units.flatMap(faultsOfUnit),
  ];
}

const shapes: Record<ImportUnit['kind'], RegExp> = {
  message: /^user $/,
  exchange: /^(?:assistant )?(?:tool_use )+(?:tool_result )+$/,
  reply: /^(?:assistant |assistant_partial )?$/,
  plan: /^plan $/,
};

function faultsOfUnit({ kind, records }: ImportUnit): string[] {
  const asides = ['note', 'thinking', 'orchestrator_meta', 'voice_interrupted'];
  const core = records.filter(({ type }) => !asides.includes(type));
  const shape = core.map(({ type }) => `${type} `).join('');
  const calls = core.flatMap((record) => (record.type === 'tool_use' ? [record.tool_call_id] : []));
  const results = core.flatMap((record) => (record.type === 'tool_result' ? [record.tool_call_id] : []));
  return [
    ...(records.length > 0 && shapes[kind].test(shape) ? [] : [`${kind}: ${shape}`]),
    ...(calls.join('\n') === results.join('\n') ? [] : ['results that are not those of the calls, in their order']),
    ...(core.some((r) => 'message' in r && 'content' in r.message && r.message.content.trim() === '') ? ['empty'] : []),
  ];
}
