/** Clears away what a process that was killed has left of a pack. */
import { readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFile } from '../disk/replace-file.ts';
import { isAlive } from '../disk/process-identity.ts';
import { fileExists } from './index-lock.ts';

/** `dir`: of the packs. What cannot be removed stays, for the next time. */
export async function removeDeadPacks(dir: string, objectFormat: 'sha1' | 'sha256'): Promise<void> {
  for (const { name, kind } of await findDeadPacks(dir)) {
    const remove = async () => {
      if (kind === 'idx') await removePackOf(dir, name, objectFormat);
      await unlink(join(dir, name));
    };
    await remove().catch(() => undefined);
  }
}

/** Files whose name says that their process is gone. */
export async function findDeadPacks(dir: string): Promise<{ name: string; kind: string }[]> {
  const found: { name: string; kind: string }[] = [];
  for (const name of await readdir(dir)) {
    const [, kind, pid, bootId] = /^tmp_(pack|idx)_teddy-(\d+)-(.+)-[0-9a-f]{8}$/.exec(name) ?? [];
    if (kind === undefined || bootId === undefined || Number(pid) === process.pid) continue;
    if (!(await isAlive(Number(pid), bootId))) found.push({ name, kind });
  }
  return found;
}

/**
 * Killed between its two renames, it has left a pack under its final name, and this is the index that never got its own. That
 * the index ends with the pack's checksum proves whose the pack is; so it goes last.
 */
async function removePackOf(dir: string, index: string, objectFormat: 'sha1' | 'sha256'): Promise<void> {
  const hashBytes = objectFormat === 'sha1' ? 20 : 32;
  const checksum = (await readFile(join(dir, index))).subarray(-2 * hashBytes, -hashBytes);
  const name = join(dir, `pack-${checksum.toString('hex')}`);
  if (!(await fileExists(`${name}.idx`))) await removeFile(`${name}.pack`);
}
