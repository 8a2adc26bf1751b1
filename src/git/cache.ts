/** Texts that can be derived again, kept under `teddy/cache`: any of them may be deleted at any time. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cache } from '../ports.ts';

const maxFiles = 32;

/** A file holds the sha256 of its text before the text: what a crash tore apart counts as absent. */
export function derivedCache(commonDir: string): Cache {
  const directory = join(commonDir, 'teddy', 'cache');
  return {
    async read(key) {
      const kept = await readFile(join(directory, key), 'utf8').catch(() => '');
      const end = kept.indexOf('\n');
      const text = kept.slice(end + 1);
      return end !== -1 && kept.slice(0, end) === sha256(text) ? text : null;
    },
    // Where it cannot be written (a full disk, a read-only one), the next command takes its time, and that is all.
    write: (key, text) => replace(directory, key, `${sha256(text)}\n${text}`).catch(() => undefined),
  };
}

async function replace(directory: string, key: string, content: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const temporary = join(directory, `${key}.${process.pid}`);
  await writeFile(temporary, content, { mode: 0o600 });
  await rename(temporary, join(directory, key));
  await removeOldest(directory);
}

async function removeOldest(directory: string): Promise<void> {
  const names = await readdir(directory);
  if (names.length <= maxFiles) return;
  const paths = names.map((name) => join(directory, name));
  const dated = await Promise.all(paths.map(async (path) => ({ path, writtenMs: (await stat(path)).mtimeMs })));
  const oldest = dated.toSorted((a, b) => a.writtenMs - b.writtenMs).slice(0, names.length - maxFiles);
  await Promise.all(oldest.map(({ path }) => rm(path, { force: true })));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
