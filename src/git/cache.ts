/** What can be derived again, kept under `teddy/cache`: any of it may be deleted at any time. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cache } from '../ports/git.ts';

const maxFiles = 32;
/** Of all files together: a history is as large as what was said in it. */
const maxBytes = 64 * 1024 * 1024;

/** A file holds the sha256 of its content before the content: what a crash tore apart counts as absent. */
export function derivedCache(commonDir: string, limits = { maxFiles, maxBytes }): Cache {
  const directory = join(commonDir, 'teddy', 'cache');
  return {
    async read(key) {
      const kept = await readFile(join(directory, key)).catch(() => Buffer.alloc(0));
      const end = kept.indexOf('\n');
      const content = kept.subarray(end + 1);
      return end !== -1 && kept.toString('latin1', 0, end) === sha256([content]) ? content : null;
    },
    async write(key, pieces) {
      const file = [Buffer.from(`${sha256(pieces)}\n`), ...pieces];
      // It would push out all others, and itself.
      if (countBytes(file) > limits.maxBytes) return;
      // Where it cannot be written (a full disk, a read-only one), the next command takes its time, and that is all.
      await replace(directory, key, file, limits).catch(() => undefined);
    },
  };
}

type Limits = { maxFiles: number; maxBytes: number };

async function replace(directory: string, key: string, file: readonly Uint8Array[], limits: Limits): Promise<void> {
  await mkdir(directory, { recursive: true });
  const temporary = join(directory, `${key}.${process.pid}`);
  await writeFile(temporary, file, { mode: 0o600 });
  await rename(temporary, join(directory, key));
  await removeOldest(directory, limits);
}

async function removeOldest(directory: string, limits: Limits): Promise<void> {
  const paths = (await readdir(directory)).map((name) => join(directory, name));
  const files = await Promise.all(paths.map(async (path) => ({ path, stats: await stat(path) })));
  let bytes = 0;
  const surplus = files
    .toSorted((a, b) => b.stats.mtimeMs - a.stats.mtimeMs)
    .filter(({ stats }, index) => index >= limits.maxFiles || (bytes += stats.size) > limits.maxBytes);
  await Promise.all(surplus.map(({ path }) => rm(path, { force: true })));
}

function countBytes(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

function sha256(pieces: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}
