/**
 * The branches of a conversation in one log. If lines name their parents, a record follows its parent; if the parent is
 * not its branch's newest record, another branch begins. A position consists of a branch and the number of its units
 * that had begun.
 */
import type { AgentStep } from './agent-log.ts';
import { drain, forkAt, isEmpty, lose, type Branch, type BranchTree, type Position } from './branch-tree.ts';
import type { ImportUnits, UnitRecords } from './import-units.ts';

/** A line's place in the tree of the log's lines. */
export interface LineOrigin {
  uuid?: string | undefined;
  /** Null when nothing precedes the line. Undefined when the previous line is the parent. */
  parent?: string | null | undefined;
  /**
   * Whether a line without a parent continues the previous line; by default true until one of the log's lines names a
   * parent.
   */
  goesOn?: boolean | undefined;
  /** The user typed the line while the model was working, so the answer continues alongside it. */
  isQueued?: boolean;
}

export interface AgentBranches {
  /** Sends the current line's records to their branch. */
  units: UnitRecords;
  /** Returns false when the log already had this line. */
  begin(origin: LineOrigin): boolean;
  /** Marks the current line as fully read. */
  end(): void;
  /** Ends the turn on the line's branch; nothing can continue that turn afterwards. */
  endTurn(): void;
  settle(): void;
  take(): AgentStep[];
  needsStart(): boolean;
  /** Returns true if a call has no result yet. */
  waits(): boolean;
  /** Returns the number of buffered records. */
  heldRecords(): number;
  /** Returns true if no unit has begun. */
  isEmpty(): boolean;
}

/** The log line that teddy is reading. */
interface Line {
  tree: BranchTree;
  origin: LineOrigin;
  /** The branch of the line's records; null while the line has none. */
  used: Branch | null;
  /** Branches that the line has reached: a result may belong to another branch. */
  reached: Set<Branch>;
}

const keptUuids = 64;

export function openBranches(tree: BranchTree): AgentBranches {
  const line: Line = { tree, origin: {}, used: null, reached: new Set() };
  const { reached } = line;
  return {
    units: unitsOf(line),
    begin: (origin) => {
      [line.origin, line.used] = [origin, null];
      tree.namesParents ||= typeof origin.parent === 'string';
      if (findParent(line) === null) tree.needsStart = true;
      return origin.uuid === undefined || !tree.positions.has(origin.uuid);
    },
    end: () => {
      const position = endRecords(line);
      for (const branch of reached) drain(tree, branch);
      reached.clear();
      if (position !== null) keepPosition(line, position);
    },
    endTurn: () => {
      const branch = line.used ?? branchOfParent(line);
      if (branch === undefined) return;
      reached.add(branch);
      branch.units.close();
    },
    settle: () => {
      for (const branch of [...new Set([...tree.busy, ...reached])].toSorted(
        (one, other) => one.number - other.number,
      )) {
        branch.units.close();
        drain(tree, branch);
      }
      reached.clear();
    },
    take: () => tree.steps.splice(0),
    needsStart: () => tree.needsStart,
    waits: () => find(line, (units) => units.waitsFor()) !== undefined,
    heldRecords: () => [...tree.busy].reduce((sum, { units }) => sum + units.heldRecords(), 0),
    isEmpty: () => isEmpty(tree),
  };
}

function unitsOf(line: Line): UnitRecords {
  return {
    message: (record) => here(line, true).units.message(record, line.origin.isQueued === true),
    say: (answer, record) => ofAnswer(line, answer).say(answer, record),
    think: (answer, record) => ofAnswer(line, answer).think(answer, record),
    call: (answer, key, record, place) => ofAnswer(line, answer).call(answer, key, record, place),
    result: (key, record, place) => {
      const branch = find(line, (units) => units.waitsFor(key)) ?? here(line, false);
      line.used ??= branch;
      line.reached.add(branch);
      branch.units.result(key, record, place);
    },
    plan: (answer, record, text, by) => {
      const { tool_call_id: key } = record;
      if (key !== undefined) line.used ??= find(line, (units) => units.waitsFor(key)) ?? null;
      ofAnswer(line, answer).plan(answer, record, text, by);
    },
    aside: (record, usage) => here(line, true).units.aside(record, usage),
    interrupt: (note) => here(line, note !== null).units.interrupt(note),
    usage: (answer, usage) => (line.used ?? branchOfParent(line))?.units.usage(answer, usage),
  };
}

function ofAnswer(line: Line, answer: string | null): ImportUnits {
  if (answer !== null) line.used ??= find(line, (units) => units.hasAnswer(answer)) ?? null;
  if (line.used !== null) line.reached.add(line.used);
  return here(line, true).units;
}

function find({ tree, reached }: Line, test: (units: ImportUnits) => boolean): Branch | undefined {
  return [...tree.busy, ...reached].find(({ units }) => test(units));
}

/** Returns the branch of the line's parent, or a new one. */
function here(line: Line, mayFork: boolean): Branch {
  const { tree, origin } = line;
  if (line.used !== null) return line.used;
  const parent = findParent(line);
  const branch = parent === null ? undefined : tree.branches.get(parent.branch);
  if (parent === null || branch === undefined) line.used = lose(tree);
  else if (!mayFork || origin.isQueued === true || parent.begun >= branch.floor) line.used = branch;
  else line.used = forkAt(tree, parent);
  line.reached.add(line.used);
  return line.used;
}

/** Returns null when the parent is before the checkpoint. */
function findParent({ tree, origin }: Line): Position | null {
  const { parent, goesOn = !tree.namesParents } = origin;
  if (parent === undefined || (parent === null && goesOn)) return tree.current;
  if (parent === null) return tree.isWhole || isEmpty(tree) ? { branch: 0, begun: 0 } : null;
  return tree.positions.get(parent) ?? (tree.isWhole ? tree.current : null);
}

function branchOfParent(line: Line): Branch | undefined {
  return line.tree.branches.get(findParent(line)?.branch ?? -1);
}

/** Returns the line's position. */
function endRecords(line: Line): Position | null {
  const { tree, origin, used } = line;
  if (used === null) return findParent(line);
  const [before, begun] = [used.floor, used.units.begun()];
  if (origin.isQueued !== true && begun > used.begun) used.floor = begun;
  used.begun = begun;
  if (used.floor !== before) used.newest = [];
  tree.time += 1;
  used.touched = tree.time;
  return { branch: used.number, begun };
}

/** Stores the position for later lines that name this one as their parent. */
function keepPosition({ tree, origin: { uuid } }: Line, position: Position): void {
  tree.current = position;
  if (uuid === undefined) return;
  tree.positions.set(uuid, position);
  const branch = tree.branches.get(position.branch);
  if (branch === undefined || position.begun < branch.floor) return;
  branch.newest.push([uuid, position.begun]);
  if (branch.newest.length > keptUuids) branch.newest.shift();
}
