import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessGroup } from '../plan/journal.ts';
import { errorCode } from '../disk/system-error.ts';

const pollMs = 10;

/**
 * Ends every process of a group: TERM to all of them, and KILL to what is left after the grace. Returns as soon as nothing
 * of the group runs. A process that made a session of its own (setsid) has left the group and is not reached.
 */
export async function endGroup(groupId: number, graceMs: number): Promise<void> {
  if (!signalGroup(groupId, 'SIGTERM')) return;
  for (const end = performance.now() + graceMs; performance.now() < end;) {
    await sleep(pollMs);
    if (!(await isRunning(groupId))) return;
  }
  signalGroup(groupId, 'SIGKILL');
}

/** At once and without waiting, for when this process ends. */
export function killGroup(groupId: number): void {
  signalGroup(groupId, 'SIGKILL');
}

/** Reads a group that was made just now; its leader gave it its id. */
export function readGroup(id: number): ProcessGroup {
  return { id, startedAt: readStart(id) };
}

/** False where the system does not tell when a process has started: its number may be another's by now. */
export async function isGroupRunning({ id, startedAt }: ProcessGroup): Promise<boolean> {
  if (startedAt === null) return false;
  const now = readStart(id);
  // Without its leader the group keeps its number: no other process gets it as long as one of the group is there.
  return (now === null || now === startedAt) && (await isRunning(id));
}

/** In ticks since the system was started. */
function readStart(id: number): string | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** False when there is nobody (left) in the group that we may signal. */
export function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-groupId, signal);
  } catch (error) {
    if (['ESRCH', 'EPERM'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}

/**
 * Dead processes stay in the group until init has waited for them, which in a container can take for ever. Where there is
 * a /proc, they are told from the living.
 */
async function isRunning(groupId: number): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false;
  const names = await readdir('/proc').catch(() => []);
  const processIds = names.filter((name) => /^\d+$/.test(name));
  if (processIds.length === 0) return true;
  const stats = await Promise.all(processIds.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')));
  return stats.some((stat) => {
    // After the program's name, which may hold anything: state, parent, group.
    const [state = '', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(group) === groupId && !/^[ZX]$/.test(state);
  });
}

/** Starts this program once more, for work that another call does as well; resolves when it runs, or could not be started. */
export function startDetached(words: readonly string[], cwd: string): Promise<void> {
  const child = spawn(process.execPath, words, { cwd, stdio: 'ignore', detached: true });
  return new Promise((resolve) => {
    child.on('error', () => resolve());
    child.on('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
