/** Identifies a process by its pid, the machine's boot, and the process's start time. */
import { readFile } from 'node:fs/promises';
import type { ProcessNames } from '../ports/project.ts';
import type { Holder as FileHolder, Processes } from './claim-file.ts';

/** The process that wrote a record, and the record's publication. */
export type Holder = Omit<FileHolder, 'startTime'>;

let bootId: Promise<string> | undefined;

/** Reads an ID that changes with each boot, so that nobody mistakes a pid from before a power cut for a living process. */
export function readBootId(): Promise<string> {
  bootId ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => 'unknown',
  );
  return bootId;
}

let startTime: Promise<string | null> | undefined;

/** Reads this process's start time in ticks since the machine booted; null when the system does not report it. */
export function readStartTime(): Promise<string | null> {
  startTime ??= readProcess('self').then(({ startedAt }) => startedAt);
  return startTime;
}

/** Reads fields of `/proc/<pid>/stat`; null when it is missing. The second field, a name in parentheses, may be anything. */
async function readProcess(pid: number | 'self'): Promise<{ state: string | null; startedAt: string | null }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: state || null, startedAt: rest[18] ?? null };
}

/** Replaces the boot ID in the name of a record that its process has released to any other process. */
const releasedBootId = 'left';

/** Returns the name that a record, `<kind>-<pid>-<boot id>-<nonce>.json`, receives when its process releases it. */
export function toReleasedName(path: string): string {
  return path.replace(/-(\d+)-[^/]+-([0-9a-f]{8})\.json$/, `-$1-${releasedBootId}-$2.json`);
}

/** Returns true if a process is at work on a record. This process works on each of its records until it releases the record. */
export async function isHeld(pid: number, recordedBootId: string): Promise<boolean> {
  return recordedBootId !== releasedBootId && (pid === process.pid || (await isAlive(pid, recordedBootId)));
}

/** Returns true if a process other than this one is alive. A start time rules out a later process with the same pid. */
export async function isAlive(
  pid: number,
  recordedBootId: string,
  recordedStartTime: string | null = null,
): Promise<boolean> {
  // This process recognizes its own records; any other record under its pid belongs to an earlier process with the same
  // pid.
  if (recordedBootId !== (await readBootId()) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // A zombie is dead even though its pid exists. In a container, nobody may ever wait for it.
  const { state, startedAt } = await readProcess(pid);
  if (recordedStartTime !== null && startedAt !== null && startedAt !== recordedStartTime) return false;
  return state === null || !/^[ZX]$/.test(state);
}

/** This machine's processes, as the system reports them. */
export const thisMachine = { bootId: readBootId, isAlive, startTime: readStartTime };

/** Names processes for use in refs, so that others can recognize refs left by a killed process. */
export function processNames({ bootId, isAlive, startTime }: Processes): ProcessNames {
  const ownName = async () => `${process.pid}-${(await startTime?.()) ?? 'unknown'}-${await bootId()}`;
  return {
    ownName,
    async isAlive(name) {
      const [, pid, started, boot] = /^(\d+)-(\d+|unknown)-([0-9a-z-]+)$/.exec(name) ?? [];
      if (pid === undefined || started === undefined || boot === undefined) return null;
      if (name === (await ownName())) return true;
      return isAlive(Number(pid), boot, started === 'unknown' ? null : started);
    },
  };
}
