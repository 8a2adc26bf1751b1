/** A file system that is really full. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const pageBytes = 4096;

export interface SmallDisk {
  dir: string;
  /** Leaves this many bytes free; returns the file that fills the rest. */
  fill(freeBytes: number): Promise<string>;
  close(): Promise<void>;
}

/** Null if only root can mount one. */
export async function mountSmallDisk(size: string): Promise<SmallDisk | null> {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-disk-'));
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir]).then(
    () => true,
    () => false,
  );
  if (!isMounted) {
    await rm(dir, { recursive: true });
    return null;
  }
  return {
    dir,
    async fill(freeBytes) {
      const { bavail, bsize } = await statfs(dir);
      const path = join(dir, 'filler');
      await writeFile(path, Buffer.alloc(Math.max(0, bavail * bsize - freeBytes)));
      return path;
    },
    async close() {
      await run('umount', [dir]);
      await rm(dir, { recursive: true });
    },
  };
}
