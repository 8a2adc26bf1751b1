/** Rows of words in the cache: what is slow to find out and never changes. */
import type { Cache } from '../ports/git.ts';

export async function readRows(cache: Cache, key: string): Promise<string[][]> {
  const text = new TextDecoder().decode((await cache.read(key)) ?? new Uint8Array());
  return text.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')]));
}

export async function writeRows(cache: Cache, key: string, rows: readonly string[][]): Promise<void> {
  await cache.write(key, [new TextEncoder().encode(rows.map((row) => `${row.join(' ')}\n`).join(''))]);
}
