/** Ids of captured entries: the same record always gives the same one, so that nothing is there twice. */
import type { Hash } from '../../ports/project.ts';

/** A UUID of version 7 with the time of the record, and the rest from a hash of `name`. */
export function toDerivedId(hash: Hash, time: string, name: string): string {
  const hex = hash(name);
  const ms = Math.max(0, Math.trunc(Date.parse(time)) || 0)
    .toString(16)
    .padStart(12, '0')
    .slice(-12);
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${hex.slice(0, 3)}-a${hex.slice(3, 6)}-${hex.slice(6, 18)}`;
}
