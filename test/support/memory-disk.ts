/**
 * Scratch directories in memory, if the machine has a large enough file system for that: the tests sync files many
 * thousand times, but do not test the disk. `npm run test:faults` tests crashes and full disks, on the disk.
 */
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const shared = '/dev/shm';
const leastBytes = 4 * 1024 ** 3;

export default function setup(): () => void {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return () => undefined;
  const dir = mkdtempSync(join(shared, 'teddy-'));
  process.env['TMPDIR'] = dir;
  return () => rmSync(dir, { recursive: true, force: true });
}

function hasRoom(): boolean {
  try {
    accessSync(shared, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(shared);
    return bavail * bsize >= leastBytes;
  } catch {
    return false;
  }
}
