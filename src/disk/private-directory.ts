/** A directory for its user alone. */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './system-error.ts';

/** One that is there is left as it is; those above it get the usual mode. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
}
