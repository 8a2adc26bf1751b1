/** Finds the running git processes in a repository, if the system reveals them. */
import { readdir, readFile, readlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeFile, fileExists } from '../../disk/replace-file.ts';
import { isAlive } from '../../disk/process-identity.ts';

/** Commands that take no lock; some of them run as long as the program that reads their output. */
const readers = /^(?:cat-file|rev-list|log|grep|diff-tree|fsmonitor--daemon)$/;

/**
 * Finds git processes with their current directory in one of `dirs`; null when the system does not reveal them. Skips a
 * git process that started teddy (`git teddy`, an alias), because it only waits for teddy.
 */
export async function findLivingGits(dirs: string[]): Promise<number[] | null> {
  const names = await readdir('/proc').catch(() => null);
  if (names === null) return null;
  const ancestors = await findAncestors();
  const pids = names.filter((name) => /^\d+$/.test(name) && !ancestors.has(name));
  const found = await Promise.all(pids.map(async (pid) => ((await isGitIn(pid, dirs)) ? [Number(pid)] : [])));
  return found.flat();
}

async function findAncestors(): Promise<Set<string>> {
  const found = new Set<string>();
  for (let pid = String(process.ppid); pid !== '' && pid !== '0' && !found.has(pid);) {
    found.add(pid);
    const status = await readFile(join('/proc', pid, 'status'), 'utf8').catch(() => '');
    pid = /^PPid:\s*(\d+)/m.exec(status)?.[1] ?? '';
  }
  return found;
}

/** A process shows no arguments while it starts, and again while it ends; both take less than a millisecond. */
const maxLooks = 50;

async function isGitIn(pid: string, dirs: string[]): Promise<boolean> {
  const read = (name: string) => readFile(join('/proc', pid, name), 'utf8').catch(() => '');
  for (let looks = 1; ; looks += 1) {
    if (!(await read('comm')).startsWith('git')) return false;
    // A process that has ended or belongs to another user has no readable directory.
    const cwd = await readlink(join('/proc', pid, 'cwd')).catch(() => null);
    if (cwd === null || !dirs.some((dir) => cwd === dir || cwd.startsWith(`${dir}/`))) return false;
    const words = await read('cmdline');
    if (words !== '' || looks === maxLooks) return !words.split('\0').some((word) => readers.test(word));
    await sleep(2);
  }
}

/** Removes dead processes' unfinished packs from the pack directory. Leaves packs that cannot be removed for the next time. */
export async function removeDeadPacks(dir: string, objectFormat: 'sha1' | 'sha256'): Promise<void> {
  for (const { name, kind } of await findDeadPacks(dir)) {
    const remove = async () => {
      if (kind === 'idx') await removePackOf(dir, name, objectFormat);
      await unlink(join(dir, name));
    };
    await remove().catch(() => undefined);
  }
}

/** Finds unfinished packs that carry a dead process's name. */
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
 * Removes the pack that belongs to an index without a final name. A process killed between its two renames leaves the
 * pack under its final name. The pack's checksum at the end of the index proves that both belong together, so remove
 * the index last.
 */
async function removePackOf(dir: string, index: string, objectFormat: 'sha1' | 'sha256'): Promise<void> {
  const hashBytes = objectFormat === 'sha1' ? 20 : 32;
  const checksum = (await readFile(join(dir, index))).subarray(-2 * hashBytes, -hashBytes);
  const name = join(dir, `pack-${checksum.toString('hex')}`);
  if (!(await fileExists(`${name}.idx`))) await removeFile(`${name}.pack`);
}
