/** Reads the rollouts of Codex: `~/.codex/sessions/<date>/rollout-<time>-<id>.jsonl`. */
import { toCodexEntry } from './codex-entry.ts';
import { openCodexReader } from './codex-lines.ts';
import { objectReader, openContext, openLineImporter, type MeasuredImporter } from './import-context.ts';
import type { ImportOptions } from './importer.ts';

export function openCodexImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('codex', options);
  const reader = openCodexReader(context, {});
  const line = objectReader(context, (object, place) => {
    const entry = toCodexEntry(object, place);
    if (entry === null) context.log.skip(place.line, 'neither an item nor an event of Codex');
    else reader.read(entry);
  });
  return openLineImporter(context, { line, end: reader.decide, title: () => null, heldLines: reader.heldLines });
}
