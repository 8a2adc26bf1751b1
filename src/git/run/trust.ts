/** Records the contents that this clone's user wrote or accepted, in an append-only file with one object ID per line. */
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Trust } from '../../ports/project.ts';
import { readTextOr, syncDirectoryIfPossible, toWriteError } from '../../disk/replace-file.ts';

/** Opens the record. `commonDir` is the directory shared by all the repository's work trees. */
export function gitTrust(commonDir: string): Trust {
  const path = join(commonDir, 'teddy', 'trusted');
  return {
    // Read the file each time, because another process may have asked the user meanwhile.
    has: async (oid) => (await readTextOr(path, '')).split('\n').includes(oid),
    async add(oids) {
      const text = await readTextOr(path, '');
      const known = new Set(text.split('\n'));
      const added = oids.filter((oid) => !known.has(oid));
      // The last line may be incomplete after a crash; begin a new one.
      const start = text === '' || text.endsWith('\n') ? '' : '\n';
      if (added.length > 0) await append(path, start + added.map((oid) => `${oid}\n`).join(''));
    },
  };
}

async function append(path: string, lines: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, lines, { flush: true });
    await syncDirectoryIfPossible(dirname(path));
  } catch (error) {
    throw toWriteError(error, path);
  }
}
