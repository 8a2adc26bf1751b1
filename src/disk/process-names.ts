/** Names of processes, for refs: what a killed one has left is known by them. */
import type { ProcessNames } from '../ports/project.ts';
import type { Processes } from './claim-file.ts';

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
