/** Which contents the user of this clone has written or accepted: a file of object ids, one a line, only ever added to. */
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Trust } from '../../ports/project.ts';
import { readTextOr, syncDir, toWriteError } from '../../disk/replace-file.ts';

/** `commonDir` is the directory that all work trees of the repository share. */
export function gitTrust(commonDir: string): Trust {
  const path = join(commonDir, 'teddy', 'trusted');
  return {
    // Read again each time: another process may have asked meanwhile, and its answer counts here too.
    has: async (oid) => (await readTextOr(path, '')).split('\n').includes(oid),
    async add(oids) {
      const text = await readTextOr(path, '');
      const known = new Set(text.split('\n'));
      const added = oids.filter((oid) => !known.has(oid));
      // A write that was torn by a crash must not take the first new line with it.
      const start = text === '' || text.endsWith('\n') ? '' : '\n';
      if (added.length > 0) await append(path, start + added.map((oid) => `${oid}\n`).join(''));
    },
  };
}

async function append(path: string, lines: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, lines, { flush: true });
    await syncDir(dirname(path));
  } catch (error) {
    throw toWriteError(error, path);
  }
}
