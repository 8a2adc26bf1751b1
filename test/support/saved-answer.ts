/** The staging of an answer that a command is receiving. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';

/** How many bytes of the answer under way a save has confirmed. */
export async function readSavedSize(root: string): Promise<number> {
  const dir = join(root, '.git/teddy/answers');
  const [name = ''] = await readdir(dir).catch(() => []);
  const text = await readFile(join(dir, name, 'state.json'), 'utf8').catch(() => '{"size":0}');
  return (JSON.parse(text) as { size: number }).size;
}

/** Waits until a save has confirmed a part of the answer. */
export function waitForSavedAnswer(root: string): Promise<void> {
  return expect.poll(() => readSavedSize(root), { interval: 5 }).toBeGreaterThan(0);
}
