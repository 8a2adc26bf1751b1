/** Finds the processes that have a file open and that the system shows this user. */
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Reads the pids from `/proc`. Returns an empty list on other systems, and when no process has the file open. */
export async function findHolders(path: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [] as string[])).filter((name) => /^\d+$/.test(name));
  const holders = await Promise.all(pids.map(async (pid) => ((await hasOpen(pid, path)) ? [Number(pid)] : [])));
  return holders.flat();
}

async function hasOpen(pid: string, path: string): Promise<boolean> {
  const dir = join('/proc', pid, 'fd');
  // The process has ended, or belongs to another user.
  const names = await readdir(dir).catch(() => [] as string[]);
  const targets = await Promise.all(names.map((name) => readlink(join(dir, name)).catch(() => '')));
  return targets.includes(path);
}
