/** Joins all writes of a run, file by file. */
import type { Effect } from './effect.ts';

type WriteEffect = Extract<Effect, { kind: 'write' }>;

/** A file that is written several times is one change: before the first write, after the last. In the order of first writes. */
export function joinWrites(effects: readonly Effect[]): WriteEffect[] {
  const files = new Map<string, WriteEffect>();
  for (const effect of effects) {
    if (effect.kind !== 'write') continue;
    files.set(effect.path, { ...effect, before: (files.get(effect.path) ?? effect).before });
  }
  return [...files.values()];
}
