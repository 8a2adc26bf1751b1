/** The steps that the product names, as they are written in its source: one that is added there has to be hit. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Those of `src/git`, `src/system` and `src/disk`, without what only an import or a transfer between lines passes. */
export function readKnownSteps(): string[] {
  return readAllSteps().filter((name) => !isImportStep(name) && !sharingSteps.includes(name));
}

/** The steps of `sync`, `pull`, `push` and `land`. */
export const sharingSteps: readonly string[] = ['fetched', 'pushed', 'checked-out', 'fast-forwarded'];

/** The steps of any append. `crash.test.ts` kills an append at each of them, and the full sweep kills every operation there. */
export const appendSteps: readonly string[] = [
  'object',
  'object-written',
  'objects-flushed',
  'record',
  'lock',
  'index',
  'ref',
  'ref-moved',
  'unlocked',
  'files-written',
  'index-installed',
  'done',
];

/** Those of the note of an answer, as long as that arrives. */
export const answerSteps: readonly string[] = ['answer-begun', 'answer-made', 'answer-staged', 'answer-noted'];

/** Those of the other notes of the journal. Only a gate that cannot be closed notes more. */
export const noteSteps: readonly string[] = [
  ...['begun', 'made', 'noted', 'done'].map((step) => `command-${step}`),
  ...['begun', 'made', 'done'].map((step) => `gate-${step}`),
];

/** Those of a line that is written as one pack. */
export function readImportSteps(): string[] {
  return readAllSteps().filter(isImportStep);
}

function isImportStep(name: string): boolean {
  return name.startsWith('pack-');
}

function readAllSteps(): string[] {
  const dirs = ['git', 'system', 'disk'].map((room) => fileURLToPath(new URL(`../../src/${room}`, import.meta.url)));
  const text = dirs.flatMap((dir) =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(dir, name), 'utf8')),
  );
  return [...new Set(text.join('\n').matchAll(/(?:\bstep|\bonStep(?:\?\.)?)\('([a-z-]+)'\)/g))].map(
    ([, name = '']) => name,
  );
}

/** Those that only a write session passes, or whoever goes on with one. */
export function isWriteStep(name: string): boolean {
  return /^(?:write-|claim-|staging-)/.test(name);
}

/** Under the names that a write session gives them. */
export function readWriteSteps(): string[] {
  const names = readKnownSteps().filter((name) => isWriteStep(name) || name.startsWith('staging-'));
  return [...new Set(names.map((name) => name.replace('staging-', 'write-')))];
}
