/** The growing branches of one log: their units, their forks, and their part of a checkpoint. */
import type { AgentStep } from './agent-log.ts';
import type { ImportIds } from '../records/import-ids.ts';
import type { ImportLog } from './import-report.ts';
import { openUnits, type ImportUnits } from './import-units.ts';
import { asText, isObject } from '../records/import-values.ts';

export interface Branch {
  number: number;
  units: ImportUnits;
  /** The number of units returned so far, and the last record of each. */
  given: number;
  ends: Map<number, string>;
  /** A record continues this branch if its parent was read after this many units had begun; later units ran alongside. */
  floor: number;
  /** The number of units that had begun before the current line. */
  begun: number;
  /** Lines that a record can follow without a fork, each with the number of units that had begun at that line. */
  newest: [uuid: string, begun: number][];
  touched: number;
}

export type Position = Record<'branch' | 'begun', number>;

export interface BranchTree {
  log: ImportLog;
  ids: ImportIds;
  follows: boolean;
  /** True when the log is read from its start, not resumed after a checkpoint. */
  isWhole: boolean;
  branches: Map<number, Branch>;
  /** The lines that a record may name as its parent. */
  positions: Map<string, Position>;
  /** Branches with unfinished content: a log may have thousands of branches that never continue. */
  busy: Set<Branch>;
  steps: AgentStep[];
  /** The number of branches that have begun. */
  count: number;
  time: number;
  needsStart: boolean;
  /** Whether any line has named its parent. */
  namesParents: boolean;
  /** The position of the last line. */
  current: Position;
}

const unread = { count: 1, time: 0, needsStart: false, namesParents: false, current: { branch: 0, begun: 0 } };
const keptBranches = 8;

/** `follows` has the same meaning as the option of `openUnits`. */
export function openTree(
  log: ImportLog,
  ids: ImportIds,
  { saved, follows }: { saved: Record<string, unknown> | null; follows: boolean },
): BranchTree {
  const empty = { branches: new Map(), positions: new Map(), busy: new Set<Branch>(), steps: [] };
  const tree: BranchTree = { ...unread, ...empty, log, ids, follows, isWhole: saved === null };
  if (saved === null) openBranch(tree, 0);
  else restore(tree, saved);
  return tree;
}

function restore(tree: BranchTree, saved: Record<string, unknown>): void {
  const { live, current: at, count, namesParents } = saved;
  tree.needsStart = !Array.isArray(live) || !Array.isArray(at);
  if (!Array.isArray(live) || !Array.isArray(at)) return;
  tree.count = Number(count);
  tree.namesParents = namesParents !== false;
  tree.current = { branch: Number(at[0]), begun: Number(at[1]) };
  for (const value of live.filter(isObject)) {
    const branch = openBranch(tree, Number(value['number']), Number(value['begun']));
    const last = asText(value['last']);
    if (last !== undefined) branch.ends.set(branch.given, last);
    Object.assign(branch, {
      floor: Number(value['floor']),
      newest: value['uuids'],
      touched: Number(value['touched']),
    });
    tree.time = Math.max(tree.time, branch.touched);
    for (const [uuid, begun] of branch.newest) tree.positions.set(uuid, { branch: branch.number, begun });
  }
}

function openBranch({ log, ids, follows, branches, time }: BranchTree, number: number, begun = 0): Branch {
  const units = openUnits(log, ids, { follows, begun });
  const ends = new Map<number, string>();
  const branch = { number, units, given: begun, ends, floor: 0, begun, newest: [], touched: time };
  branches.set(number, branch);
  return branch;
}

/** Returns null while a unit is open. */
export function saveTree({ busy, branches, count, namesParents, current }: BranchTree): Record<string, unknown> | null {
  if (busy.size > 0) return null;
  const live = [...branches.values()].toSorted((one, other) => one.touched - other.touched).slice(-keptBranches);
  return {
    count,
    namesParents,
    current: [current.branch, current.begun],
    live: live
      .toSorted((one, other) => one.number - other.number)
      .map(({ number, units, ends, given, floor, newest, touched }) => ({
        number,
        touched,
        begun: units.begun(),
        floor,
        last: ends.get(given) ?? null,
        uuids: [...newest],
      })),
  };
}

/** Returns the branch's complete units. */
export function drain({ log, steps, busy }: BranchTree, branch: Branch): void {
  const units = branch.units.take();
  log.give(units);
  for (const unit of units) {
    steps.push({ unit: { ...unit, branch: branch.number } });
    if (unit.kind === 'plan') continue;
    branch.given += 1;
    branch.ends.set(branch.given, unit.records.at(-1)?.id ?? '');
  }
  if (branch.units.heldRecords() > 0) busy.add(branch);
  else busy.delete(branch);
}

/**
 * Begins another branch at a position. If the earlier content at that position has already been released, the log must
 * be reread from its beginning.
 */
export function forkAt(tree: BranchTree, { branch: number, begun }: Position): Branch {
  const leaves = tree.branches.get(number);
  if (leaves === undefined) return lose(tree);
  leaves.units.closeThrough(begun - 1);
  drain(tree, leaves);
  const after = begun === 0 ? null : leaves.ends.get(begun);
  if (after === undefined) return lose(tree);
  const branch = openBranch(tree, tree.count);
  tree.count += 1;
  tree.steps.push({ fork: { branch: branch.number, leaves: leaves.number, after } });
  return branch;
}

export function lose(tree: BranchTree): Branch {
  tree.needsStart = true;
  return tree.branches.get(0) ?? openBranch(tree, 0);
}

/** Returns true if no unit has begun. */
export function isEmpty({ count, branches }: BranchTree): boolean {
  return count === 1 && (branches.get(0)?.units.begun() ?? 0) === 0;
}
