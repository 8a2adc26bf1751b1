/** The answers that commands are receiving, according to the journal. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { AnswerTarget } from '../../src/ports/disk.ts';

export interface SavedAnswer {
  place: AnswerTarget;
  /** The bytes that a save has confirmed. */
  confirmed: Buffer;
}

/** The names of their files. */
export async function listAnswerFiles(root: string): Promise<string[]> {
  const names = await readdir(join(root, '.git/teddy/journal')).catch(() => []);
  return names.filter((name) => name.startsWith('answer-'));
}

export async function readSavedAnswers(root: string): Promise<SavedAnswer[]> {
  const read = (name: string) => readFile(join(root, '.git/teddy/journal', name)).catch(() => Buffer.alloc(0));
  const notes = (await listAnswerFiles(root)).filter((name) => name.endsWith('.json'));
  const found = await Promise.all(
    notes.map(async (name) => {
      const note = (await read(name)).toString();
      // It has just been removed.
      if (note === '') return [];
      const { facts, staged } = JSON.parse(note) as {
        facts: Pick<SavedAnswer, 'place'>;
        staged: { size: number } | null;
      };
      const content = await read(name.replace('.json', '.content'));
      return [{ place: facts.place, confirmed: content.subarray(0, staged?.size ?? 0) }];
    }),
  );
  return found.flat();
}

/** How many bytes of the arriving answer a save has confirmed. */
export async function readSavedSize(root: string): Promise<number> {
  return (await readSavedAnswers(root))[0]?.confirmed.length ?? 0;
}

/** Waits until a save has confirmed a part of the answer. */
export function waitForSavedAnswer(root: string): Promise<void> {
  return expect.poll(() => readSavedSize(root), { interval: 5 }).toBeGreaterThan(0);
}
