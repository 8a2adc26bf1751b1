/** Describes repairs in words. */
import type { Repair, RepairKind } from './history.ts';
import type { Transcript } from '../records/transcript.ts';

export interface RepairList {
  /** `place` comes from `keepPlace`; without it, the repair comes last. */
  add(kind: RepairKind, turn: string, text: string, place?: number): void;
  addLines(turn: string, transcript: Transcript): void;
  /** Reserves a place for a repair that may become necessary. */
  keepPlace(): number;
  /** Lists the repairs by place. */
  all(): Repair[];
}

export function openRepairs(): RepairList {
  const found: { place: number; repair: Repair }[] = [];
  let next = 0;
  const keepPlace = () => (next += 1);
  const add = (repair: Repair, place = keepPlace()) => found.push({ place, repair });
  return {
    add: (kind, turn, text, place) => add(toRepair(kind, turn, text), place),
    addLines(turn, { skipped, repaired }) {
      for (const { line, reason } of skipped)
        add({ ...toRepair('line-skipped', turn, `Line ${line} was left out: ${reason}.`), line });
      for (const { line, reason } of repaired)
        add({ ...toRepair('line-repaired', turn, `Line ${line} was repaired: ${reason}.`), line });
    },
    keepPlace,
    all: () => found.toSorted((one, other) => one.place - other.place).map(({ repair }) => repair),
  };
}

/** Shortens an ID, which may contain anything, and shows it on one line. */
export function showId(id: string): string {
  const shown = id.replace(/[\p{C}\p{Z}]/gu, '?');
  return shown.length > 80 ? `${shown.slice(0, 80)}...` : shown;
}

function toRepair(kind: RepairKind, turn: string, text: string): Repair {
  return turn === '' ? { kind, text } : { kind, turn, text };
}
