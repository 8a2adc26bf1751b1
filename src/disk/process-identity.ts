/** Which process something is of: its pid, the start of the machine, and when the process began. */
import { readFile } from 'node:fs/promises';
import type { ProcessNames } from '../ports/project.ts';
import type { Holder as FileHolder, Processes } from './claim-file.ts';

/** Which process wrote a record, and which of its publications it is of. */
export type Holder = Omit<FileHolder, 'startTime'>;

let bootId: Promise<string> | undefined;

/** Changes with every start of the machine, so that a pid from before a power cut is not taken for a living process. */
export function readBootId(): Promise<string> {
  bootId ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => 'unknown',
  );
  return bootId;
}

let startTime: Promise<string | null> | undefined;

/** Reads the start time of this process in ticks since the machine started; null when the system does not say. */
export function readStartTime(): Promise<string | null> {
  startTime ??= readProcess('self').then(({ startedAt }) => startedAt);
  return startTime;
}

/** Fields of `/proc/<pid>/stat`, null where there is none. The second, a name in parentheses, may hold anything. */
async function readProcess(pid: number | 'self'): Promise<{ state: string | null; startedAt: string | null }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: state || null, startedAt: rest[18] ?? null };
}

/** In place of the start of the machine: the process that wrote a record has left it to whoever comes next. */
const leftBootId = 'left';

/** The name of a record, `<kind>-<pid>-<boot id>-<nonce>.json`, from which its process has taken its hands. */
export function toLeftName(path: string): string {
  return path.replace(/-(\d+)-[^/]+-([0-9a-f]{8})\.json$/, `-$1-${leftBootId}-$2.json`);
}

/** Whether a process is at work on a record; this one is on every record that it has not left. */
export async function isHeld(pid: number, recordedBootId: string): Promise<boolean> {
  return recordedBootId !== leftBootId && (pid === process.pid || (await isAlive(pid, recordedBootId)));
}

/** With a start time no process is taken for one that had its pid before. */
export async function isAlive(
  pid: number,
  recordedBootId: string,
  recordedStartTime: string | null = null,
): Promise<boolean> {
  // This process knows what it is doing; any other record under its pid comes from a process that had the pid before.
  if (recordedBootId !== (await readBootId()) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // Dead all the same, where nobody waits for it: in a container that can take for ever.
  const { state, startedAt } = await readProcess(pid);
  if (recordedStartTime !== null && startedAt !== null && startedAt !== recordedStartTime) return false;
  return state === null || !/^[ZX]$/.test(state);
}

/** Processes as the system shows them. */
export const thisMachine = { bootId: readBootId, isAlive, startTime: readStartTime };

/** Names of processes, for refs: what a killed one has left is known by them. */
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
