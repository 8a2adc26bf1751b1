/** Chooses the importer of a format. */
import type { ImportFormat, ImportOptions } from './importer.ts';
import { openClaudeCodeImporter } from './import-claude-code.ts';
import { openCodexImporter } from './import-codex.ts';
import type { MeasuredImporter } from './import-context.ts';
import { openJsonlImporter } from './import-jsonl.ts';
import { openOpenaiImporter } from './import-openai.ts';

const openers: Record<ImportFormat, (options: ImportOptions) => MeasuredImporter> = {
  'claude-code': openClaudeCodeImporter,
  codex: openCodexImporter,
  openai: openOpenaiImporter,
  jsonl: openJsonlImporter,
};

export function openImporter(format: ImportFormat, options: ImportOptions): MeasuredImporter {
  return openers[format](options);
}
