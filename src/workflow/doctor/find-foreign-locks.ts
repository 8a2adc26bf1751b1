/** Locks of git's that are not ours: told, never removed. */
import { toShellWord } from '../../session/shell-word.ts';
import { remainsOf, type Examination } from './finding.ts';

export const findForeignLocks: Examination = async (scene) => ({
  found: remainsOf(scene, 'foreign-lock').map(({ path, ageMs, heldBy }) => ({
    kind: 'foreign-lock',
    thing: path,
    meaning: `Another program has locked this for ${formatAge(ageMs)}${describe(heldBy)}, and git refuses to change what it guards.`,
    fix: null,
    todo: `Wait for it; if nothing is at work there any more: \`rm ${toShellWord(path)}\`.`,
    mend: null,
  })),
  seen: 'locks',
});

function describe(heldBy: number[]): string {
  if (heldBy.length === 0) return '';
  return ` (${heldBy.length === 1 ? 'process' : 'processes'} ${heldBy.join(', ')})`;
}

function formatAge(ms: number): string {
  const units: [string, number][] = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ];
  const [unit, size] = units.find(([, length]) => ms >= 2 * length) ?? ['s', 1000];
  return `${Math.round(ms / size)} ${unit}`;
}
