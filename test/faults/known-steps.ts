/** The steps that the product names, as written in its source: a step that is added there has to be hit. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Steps in `src/git`, `src/system` and `src/disk`, except those passed only by an import or a transfer between lines.
 */
export function readKnownSteps(): string[] {
  return readAllSteps().filter((name) => !isImportStep(name) && !sharingSteps.includes(name));
}

/** The steps of `sync`, `pull`, `push` and `land`. */
export const sharingSteps: readonly string[] = ['fetched', 'pushed', 'checked-out', 'fast-forwarded'];

/**
 * The steps of any append. `crash.test.ts` kills an append at each of them, and the full sweep kills every operation
 * there.
 */
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

/** Steps of an answer's note, while it arrives. */
export const answerSteps: readonly string[] = ['answer-begun', 'answer-made', 'answer-staged', 'answer-noted'];

/** Steps of the other notes in the journal. Only a gate that cannot be closed records more. */
export const noteSteps: readonly string[] = [
  ...['begun', 'made', 'noted', 'done'].map((step) => `command-${step}`),
  ...['begun', 'made', 'done'].map((step) => `gate-${step}`),
];

/** Steps of a line that is written as one pack. */
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

/** Steps passed only by a write session, or its continuation. */
export function isWriteStep(name: string): boolean {
  return /^(?:write-|claim-|staging-)/.test(name);
}

/** Under a write session's names for them. */
export function readWriteSteps(): string[] {
  const names = readKnownSteps().filter((name) => isWriteStep(name) || name.startsWith('staging-'));
  return [...new Set(names.map((name) => name.replace('staging-', 'write-')))];
}
