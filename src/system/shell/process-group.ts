/** Recognizes a script's processes by a mark in their environment, and ends them. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessGroup } from '../../plan/report/journal.ts';
import { errorCode } from '../../disk/system-error.ts';

const pollMs = 10;

/**
 * The variable with the marks of the scripts that a process descends from; even a process that has left its group by
 * `setsid` has it.
 */
const markVariable = 'TEDDY_COMMAND';

/** A script that another script started through teddy has both scripts' marks. */
export function markEnvironment(user: Record<string, string | undefined>, mark: string): Record<string, string> {
  return { [markVariable]: [user[markVariable], mark].filter(Boolean).join(' ') };
}

/**
 * Ends everything that a script has started: first its group, then processes outside the group that have its mark.
 * Returns the IDs of processes that it cannot end.
 */
export async function endScript(groupId: number, mark: string, graceMs: number): Promise<number[]> {
  await endGroup(groupId, graceMs);
  const killAt = performance.now() + graceMs;
  const terminated = new Set<number>();
  // Looks twice, because a process may start another one and exit during the first look.
  for (let looks = 0; looks < 2;) {
    const ids = findMarked(mark);
    looks = ids.length === 0 ? looks + 1 : 0;
    const now = performance.now();
    if (now > killAt + graceMs) return ids;
    for (const id of ids) {
      if (now >= killAt) signal(id, 'SIGKILL');
      else if (!terminated.has(id)) signal(id, 'SIGTERM');
      terminated.add(id);
    }
    if (ids.length > 0) await sleep(pollMs);
  }
  return [];
}

/** Dead processes have no environment, and other users' processes do not reveal theirs. Finds none without /proc. */
function findMarked(mark: string): number[] {
  return listProcesses().filter((id) => {
    try {
      return readFileSync(`/proc/${id}/environ`).includes(mark);
    } catch {
      return false;
    }
  });
}

function listProcesses(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/**
 * Ends every process in a group: sends TERM to all, and KILL to any that still run after the grace period. Returns as
 * soon as none is running.
 */
async function endGroup(groupId: number, graceMs: number): Promise<void> {
  if (!signalGroup(groupId, 'SIGTERM')) return;
  for (const end = performance.now() + graceMs; performance.now() < end;) {
    await sleep(pollMs);
    if (!(await isRunning(groupId))) return;
  }
  signalGroup(groupId, 'SIGKILL');
}

/** Limits the number of looks, for processes that start others faster than teddy kills them. */
const maxLooks = 20;

/** Kills without waiting, because this process is exiting. */
export function killScript(groupId: number, mark: string): void {
  signalGroup(groupId, 'SIGKILL');
  for (let looks = 0, ids = findMarked(mark); ids.length > 0 && looks < maxLooks; looks += 1, ids = findMarked(mark))
    for (const id of ids) signal(id, 'SIGKILL');
}

/** Reads a group that was just made; its ID is its leader's pid. */
export function readGroup(id: number, mark: string): ProcessGroup {
  return { id, startedAt: readStart(id), mark };
}

/**
 * Implements `Shell.findRunning`. When the system does not reveal start times, the number may belong to another process
 * by now.
 */
export async function findRunning({ id, startedAt, mark }: ProcessGroup): Promise<number[]> {
  const now = readStart(id);
  // Without its leader, the group keeps its number: no other process can have that number while the group has a
  // process.
  const isSame = startedAt !== null && (now === null || now === startedAt);
  if (isSame && (await isRunning(id))) return [-id];
  return mark === undefined ? [] : findMarked(mark);
}

/** In clock ticks since the system started. */
function readStart(id: number): string | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** Returns false when the group has no process (left) that this process may signal. */
export function signalGroup(groupId: number, name: NodeJS.Signals | 0): boolean {
  return signal(-groupId, name);
}

function signal(id: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(id, name);
  } catch (error) {
    if (['ESRCH', 'EPERM'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}

/**
 * Dead processes stay in the group until init has waited for them, which may never happen in a container. /proc
 * distinguishes dead processes.
 */
async function isRunning(groupId: number): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false;
  const processIds = listProcesses();
  if (processIds.length === 0) return true;
  const stats = await Promise.all(processIds.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')));
  return stats.some((stat) => {
    // The fields after the program's name, which may contain anything: state, parent, group.
    const [state = '', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(group) === groupId && !/^[ZX]$/.test(state);
  });
}

/**
 * Starts this program again in the background, for work that other calls also do; resolves once the program is running
 * or has failed to start.
 */
export function startDetached(words: readonly string[], cwd: string): Promise<void> {
  // A script that started teddy, for example through a hook, ends before the new process does.
  const env = { ...process.env, [markVariable]: undefined };
  const child = spawn(process.execPath, words, { cwd, env, stdio: 'ignore', detached: true });
  return new Promise((resolve) => {
    child.on('error', () => resolve());
    child.on('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
