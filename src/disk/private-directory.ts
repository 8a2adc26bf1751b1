/** A directory for its user alone. */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fallBackTo } from './system-error.ts';

/** One that is there is left as it is; those above it get the usual mode. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: 0o700 }).catch(fallBackTo(undefined, 'EEXIST'));
}
