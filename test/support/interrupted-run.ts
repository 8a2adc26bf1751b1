/**
 * A `teddy execute` that is ended with SIGKILL while a command of its plan runs, and a `teddy chat` in its command.
 *
 *   await project.plan(planOf(createAction('a.txt', 'A\n'), executeAction(`echo x > b.txt; ${waitHere}`)));
 *   const group = await killRun(project); // the command still runs
 *   await endGroup(group);
 */
import { readdir, readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { TeddyProject } from './teddy-project.ts';

/** For a script: reports that it has come this far, and waits. */
export const waitHere = 'echo "waits in $$"; sleep 60';

/** Kills only teddy, not the command's process group. */
export async function killRun(project: TeddyProject, ...args: string[]): Promise<number> {
  return killIn(project, ['session', 'execute', '-y', ...args]);
}

/** The same with a conversation, whose model calls the command. */
export async function killChat(project: TeddyProject, ...args: string[]): Promise<number> {
  return killIn(project, ['session', 'chat', '-y', ...args]);
}

/** When the command prints something, its process group is on record. */
async function killIn(project: TeddyProject, args: string[]): Promise<number> {
  const run = project.start(args);
  await run.waitForOutput(/waits in \d+\n/);
  run.kill('SIGKILL');
  const { signal, stdout, stderr } = await run.result;
  expect(signal).toBe('SIGKILL');
  return Number(/waits in (\d+)/.exec(stdout + stderr)?.[1]);
}

export async function endGroup(group: number): Promise<void> {
  process.kill(-group, 'SIGKILL');
  await expect.poll(() => runningInGroup(group), { timeout: 20_000, interval: 10 }).toEqual([]);
}

/** The running processes in a group; a dead process that its parent has not reaped yet does not count. */
export async function runningInGroup(group: number): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return stats.filter((stat) => {
    const [state = '', , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(itsGroup) === group && !/[ZX]/.test(state);
  });
}
