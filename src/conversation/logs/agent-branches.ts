/**
 * The branches of a conversation in one log. Where lines name their parents, a record follows its parent: one whose parent is not
 * the newest of its branch begins another branch. A position is a branch and how many of its units had begun.
 */
import type { AgentStep } from './agent-log.ts';
import type { ImportIds } from '../records/import-ids.ts';
import type { ImportLog } from './import-report.ts';
import { openUnits, type ImportUnits, type UnitRecords } from './import-units.ts';
import { asText, isObject } from '../records/import-values.ts';

/** Where a line of a log stands in the tree of its lines. */
export interface LineOrigin {
  uuid?: string | undefined;
  /** Null: nothing is before it. Undefined: the line before it. */
  parent?: string | null | undefined;
  /** Whether it goes on from the line before it where it has no parent; without it, while no line of the log has named one. */
  goesOn?: boolean | undefined;
  /** The user said it while the model worked: the answer goes on beside it. */
  isQueued?: boolean;
}

export interface AgentBranches {
  /** The records of the line that is being read go to the branch where they belong. */
  units: UnitRecords;
  /** False: the log has had this line already. */
  begin(origin: LineOrigin): boolean;
  /** All of the line has been read. */
  end(): void;
  /** Nothing more of the line's branch goes on. */
  endTurn(): void;
  settle(): void;
  take(): AgentStep[];
  /** Null while a unit is open. */
  save(): Record<string, unknown> | null;
  needsStart(): boolean;
  /** A call has no result yet. */
  waits(): boolean;
  /** Records that are held back. */
  heldRecords(): number;
  /** No unit has begun. */
  isEmpty(): boolean;
}

interface Branch {
  number: number;
  units: ImportUnits;
  /** How many of its units were given, and the last record of each. */
  given: number;
  ends: Map<number, string>;
  /** A record whose parent was read when so many units had begun goes on in this branch: what came since was said beside it. */
  floor: number;
  /** How many units had begun before the line that is being read. */
  begun: number;
  /** Lines that a record can follow without a fork, and how many units had begun there. */
  newest: [uuid: string, begun: number][];
  touched: number;
}

type Position = Record<'branch' | 'begun', number>;

const kept = { uuids: 64, branches: 8 };

/** `follows`: as for `openUnits`. */
export function openBranches(
  log: ImportLog,
  ids: ImportIds,
  { saved, follows }: { saved: Record<string, unknown> | null; follows: boolean },
): AgentBranches {
  const branches = new Map<number, Branch>();
  const positions = new Map<string, Position>();
  /** Those that hold something back, and those that the line has reached: a log may have thousands that nobody comes back to. */
  const busy = new Set<Branch>();
  const reached = new Set<Branch>();
  const steps: AgentStep[] = [];
  let [count, time, needsStart, namesParents] = [1, 0, false, false];
  let current: Position = { branch: 0, begun: 0 };
  let origin: LineOrigin = {};
  let used: Branch | null = null;

  const open = (number: number, begun = 0): Branch => {
    const units = openUnits(log, ids, { follows, begun });
    const ends = new Map<number, string>();
    const branch = { number, units, given: begun, ends, floor: 0, begun, newest: [], touched: time };
    branches.set(number, branch);
    return branch;
  };

  const drain = (branch: Branch): void => {
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
  };

  const findParent = (): Position | null => {
    const { parent, goesOn = !namesParents } = origin;
    if (parent === undefined || (parent === null && goesOn)) return current;
    if (parent === null) return saved === null || isEmpty() ? { branch: 0, begun: 0 } : null;
    return positions.get(parent) ?? (saved === null ? current : null);
  };

  /** Null: it has to be read again from the beginning. */
  const forkAt = ({ branch: number, begun }: Position): Branch | null => {
    const leaves = branches.get(number);
    if (leaves === undefined) return null;
    leaves.units.closeThrough(begun - 1);
    drain(leaves);
    const after = begun === 0 ? null : leaves.ends.get(begun);
    return after === undefined ? null : addFork(leaves.number, after);
  };
  const addFork = (leaves: number, after: string | null): Branch => {
    const branch = open(count);
    count += 1;
    steps.push({ fork: { branch: branch.number, leaves, after } });
    return branch;
  };

  const lose = (): Branch => {
    needsStart = true;
    return branches.get(0) ?? open(0);
  };

  /** The branch of the line's parent, or a new one. */
  const here = (mayFork: boolean): Branch => {
    if (used !== null) return used;
    const parent = findParent();
    const branch = parent === null ? undefined : branches.get(parent.branch);
    if (parent === null || branch === undefined) used = lose();
    else if (!mayFork || origin.isQueued === true || parent.begun >= branch.floor) used = branch;
    else used = forkAt(parent) ?? lose();
    reached.add(used);
    return used;
  };
  const find = (test: (units: ImportUnits) => boolean): Branch | undefined =>
    [...busy, ...reached].find(({ units }) => test(units));
  const ofAnswer = (answer: string | null): ImportUnits => {
    if (answer !== null) used ??= find((units) => units.hasAnswer(answer)) ?? null;
    if (used !== null) reached.add(used);
    return here(true).units;
  };
  const isEmpty = (): boolean => count === 1 && (branches.get(0)?.units.begun() ?? 0) === 0;

  if (!restore()) needsStart = true;
  function restore(): boolean {
    if (saved === null) return open(0) !== undefined;
    const { live, current: at } = saved;
    if (!Array.isArray(live) || !Array.isArray(at)) return false;
    count = Number(saved['count']);
    namesParents = saved['namesParents'] !== false;
    current = { branch: Number(at[0]), begun: Number(at[1]) };
    for (const value of live.filter(isObject)) {
      const branch = open(Number(value['number']), Number(value['begun']));
      const last = asText(value['last']);
      if (last !== undefined) branch.ends.set(branch.given, last);
      Object.assign(branch, {
        floor: Number(value['floor']),
        newest: value['uuids'],
        touched: Number(value['touched']),
      });
      time = Math.max(time, branch.touched);
      for (const [uuid, begun] of branch.newest) positions.set(uuid, { branch: branch.number, begun });
    }
    return true;
  }

  return {
    units: {
      message: (record) => here(true).units.message(record, origin.isQueued === true),
      say: (answer, record) => ofAnswer(answer).say(answer, record),
      think: (answer, record) => ofAnswer(answer).think(answer, record),
      call: (answer, key, record, place) => ofAnswer(answer).call(answer, key, record, place),
      result: (key, record, place) => {
        const branch = find((units) => units.waitsFor(key)) ?? here(false);
        used ??= branch;
        reached.add(branch);
        branch.units.result(key, record, place);
      },
      plan: (answer, record, text) => {
        const { tool_call_id: key } = record;
        if (key !== undefined) used ??= find((units) => units.waitsFor(key)) ?? null;
        ofAnswer(answer).plan(answer, record, text);
      },
      aside: (record, usage) => here(true).units.aside(record, usage),
      interrupt: (note) => here(note !== null).units.interrupt(note),
      usage: (answer, usage) => (used ?? branches.get(findParent()?.branch ?? -1))?.units.usage(answer, usage),
    },
    begin: (next) => {
      [origin, used] = [next, null];
      namesParents ||= typeof next.parent === 'string';
      if (findParent() === null) needsStart = true;
      return next.uuid === undefined || !positions.has(next.uuid);
    },
    end: () => {
      const position: Position | null =
        used === null ? findParent() : { branch: used.number, begun: used.units.begun() };
      if (used !== null) {
        const [before, begun] = [used.floor, used.units.begun()];
        if (origin.isQueued !== true && begun > used.begun) used.floor = begun;
        used.begun = begun;
        if (used.floor !== before) used.newest = [];
        time += 1;
        used.touched = time;
      }
      for (const branch of reached) drain(branch);
      reached.clear();
      if (position === null) return;
      current = position;
      if (origin.uuid === undefined) return;
      positions.set(origin.uuid, position);
      const branch = branches.get(position.branch);
      if (branch === undefined || position.begun < branch.floor) return;
      branch.newest.push([origin.uuid, position.begun]);
      if (branch.newest.length > kept.uuids) branch.newest.shift();
    },
    endTurn: () => {
      const branch = used ?? branches.get(findParent()?.branch ?? -1);
      if (branch === undefined) return;
      reached.add(branch);
      branch.units.close();
    },
    settle: () => {
      for (const branch of [...new Set([...busy, ...reached])].toSorted((one, other) => one.number - other.number)) {
        branch.units.close();
        drain(branch);
      }
      reached.clear();
    },
    take: () => steps.splice(0),
    save: () => {
      if (busy.size > 0) return null;
      const live = [...branches.values()].toSorted((one, other) => one.touched - other.touched).slice(-kept.branches);
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
    },
    needsStart: () => needsStart,
    waits: () => find((units) => units.waitsFor()) !== undefined,
    heldRecords: () => [...busy].reduce((sum, { units }) => sum + units.heldRecords(), 0),
    isEmpty,
  };
}
