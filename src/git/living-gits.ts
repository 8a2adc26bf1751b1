/** Which gits are at work in a repository, as far as the system says. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Some of them stay for as long as a program that reads, and none of them takes a lock. */
const readers = /^(?:cat-file|rev-list|log|grep|diff-tree|fsmonitor--daemon)$/;

/**
 * Processes whose program is git and that stand in one of these directories; null where the system does not say. One that has
 * started us (`git teddy`, an alias) only waits for us.
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

async function isGitIn(pid: string, dirs: string[]): Promise<boolean> {
  const read = (name: string) => readFile(join('/proc', pid, name), 'utf8').catch(() => '');
  if (!(await read('comm')).startsWith('git')) return false;
  // A process that is over, and one of another user, has no directory for us.
  const cwd = await readlink(join('/proc', pid, 'cwd')).catch(() => null);
  if (cwd === null || !dirs.some((dir) => cwd === dir || cwd.startsWith(`${dir}/`))) return false;
  return !(await read('cmdline')).split('\0').some((word) => readers.test(word));
}
