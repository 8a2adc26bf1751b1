/** Identifies a process by its pid, the boot of the machine, and the time when it started. */
import { readFile } from 'node:fs/promises';
import type { ProcessNames } from '../ports/project.ts';
import type { Holder as FileHolder, Processes } from './claim-file.ts';

/** The process that wrote a record, and the publication that the record belongs to. */
export type Holder = Omit<FileHolder, 'startTime'>;

let bootId: Promise<string> | undefined;

/** Reads an id that changes with each boot, so that a pid from before a power cut is not mistaken for a living process. */
export function readBootId(): Promise<string> {
  bootId ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => 'unknown',
  );
  return bootId;
}

let startTime: Promise<string | null> | undefined;

/** Reads the start time of this process in ticks since the machine booted; null when the system does not report it. */
export function readStartTime(): Promise<string | null> {
  startTime ??= readProcess('self').then(({ startedAt }) => startedAt);
  return startTime;
}

/** Reads fields of `/proc/<pid>/stat`; null when it does not exist. The second, a name in parentheses, may be anything. */
async function readProcess(pid: number | 'self'): Promise<{ state: string | null; startedAt: string | null }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: state || null, startedAt: rest[18] ?? null };
}

/** Replaces the boot id in the name of a record that its process has released to any other process. */
const releasedBootId = 'left';

/** Returns the name that a record, `<kind>-<pid>-<boot id>-<nonce>.json`, gets when its process releases it. */
export function toReleasedName(path: string): string {
  return path.replace(/-(\d+)-[^/]+-([0-9a-f]{8})\.json$/, `-$1-${releasedBootId}-$2.json`);
}

/** Tells whether a process is at work on a record. This process is at work on each of its records that it has not released. */
export async function isHeld(pid: number, recordedBootId: string): Promise<boolean> {
  return recordedBootId !== releasedBootId && (pid === process.pid || (await isAlive(pid, recordedBootId)));
}

/** Tells whether another process than this one is alive. With a start time, a later process with the same pid is not. */
export async function isAlive(
  pid: number,
  recordedBootId: string,
  recordedStartTime: string | null = null,
): Promise<boolean> {
  // This process knows its own records; any other record under its pid belongs to an earlier process with the same pid.
  if (recordedBootId !== (await readBootId()) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // A zombie is dead even though its pid exists. In a container, it can take forever until somebody waits for it.
  const { state, startedAt } = await readProcess(pid);
  if (recordedStartTime !== null && startedAt !== null && startedAt !== recordedStartTime) return false;
  return state === null || !/^[ZX]$/.test(state);
}

/** The processes of this machine, as the system reports them. */
export const thisMachine = { bootId: readBootId, isAlive, startTime: readStartTime };

/** Names processes for use in refs, so that refs left by a killed process can be recognized. */
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
