/** Files that a command is given to read, outside of every work tree. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { ScratchFiles } from '../ports/disk.ts';
import { errorReason } from '../disk/system-error.ts';

export function scratchFiles(): ScratchFiles {
  return {
    async write(name, bytes) {
      const directory = await mkdtemp(join(tmpdir(), 'teddy-file-')).catch(refuse);
      const remove = () => rm(directory, { recursive: true, force: true });
      const path = join(directory, name);
      try {
        await writeFile(path, bytes, { mode: 0o600 });
      } catch (error) {
        await remove();
        refuse(error);
      }
      return { path, remove };
    },
  };
}

function refuse(error: unknown): never {
  throw new TeddyError(
    'WRITE_FAILED',
    `A temporary file could not be written: ${errorReason(error)}.`,
    `Make room in ${tmpdir()}, or set TMPDIR to another directory.`,
    { cause: error },
  );
}
