/** Decides what to do with a log's units, based only on facts about the log and the lines that they go to. */
import type { AgentUnit } from '../../conversation/logs/agent-log.ts';
import type { KnownRecord } from '../../conversation/records/record.ts';
import { encodeRecord, versionLimits } from '../../conversation/records/transcript.ts';
import type { LogPosition } from '../../ports/agent-logs.ts';
import type { Hash } from '../../ports/project.ts';
import { toTurnName, turnNumber, type RefName, type TurnName } from '../../names.ts';
import type { Draft } from '../line/append.ts';
import { describeUnits } from '../line/describe-records.ts';
import type { LineTurns } from '../../view/view.ts';
import { newBranch, type FollowedBranch, type FollowedLog, type LastTexts, type TurnPosition } from './capture.ts';

/** All known facts about a followed log. Immutable: each step makes the next state. */
export interface FollowState {
  /** The part that is saved. */
  log: FollowedLog;
  /** The branches' current places, and the current reading position; `log` contains both as of its checkpoint. */
  places: TurnPosition[];
  position: LogPosition | null;
  /**
   * The number of lines that no reader understands: lines before the reader began, later lines, and the later lines
   * that are on the line.
   */
  unknownBefore: number;
  unknown: number;
  rawWritten: number;
  /** The branch that teddy read last. */
  latest: number;
  texts: LastTexts;
  /** The number of records from a pause. */
  paused: number;
  stops: 'elsewhere' | 'line-gone' | null;
  /**
   * Whether teddy has determined which units the log repeats from another log, the place after them, and the number of
   * steps to buffer until then.
   */
  isOwn: boolean;
  copied: Copied | null;
  heldSteps: number;
}

/** The place on a related log's line after which this log continues, and the number of its units before that place. */
export interface Copied {
  line: BranchLine;
  after: string | null;
  count: number;
}

/** A branch to write to: its ref's tip, and its records. */
export interface BranchLine extends LineTurns {
  ref: RefName;
  /** Each record's turn, by ID, without turns before the first requested one. */
  known: Map<string, TurnName>;
  /** The number of the line's last turn, whoever opened it. */
  lastTurn: number;
  /** The turns that have a plan, among those with records in `known`. */
  planned: Set<TurnName>;
  /**
   * True when the last turn waits for an answer to somebody else's message, or for teddy's run, so the agent cannot
   * open a turn after it.
   */
  isTaken: boolean;
  /**
   * True when somebody else has continued the last turn after the agent's words, so that no more of the agent's words
   * can follow.
   */
  isShared: boolean;
  /** True when the line's newest code is somebody else's; a work tree that is not on the line does not have that code. */
  hasCode: boolean;
}

/** A branch of the conversation on its line, and the facts for a decision about it. */
export interface BranchFacts {
  branch: number;
  line: BranchLine;
  /** The turn of a branch made for the next units, and what that turn repeats. */
  opens: TurnName | null;
  before: AgentUnit | null;
  /** Records that none of the session's other branches contains. */
  absent: Set<string>;
  /** True when one of the line's entries names the agent's session, so no other session has reused the branch's name. */
  isOfSession: boolean;
}

/** An entry that contains a log's units. */
type UnitsDraft = Draft & { turn: TurnName; records: KnownRecord[]; files: Record<string, string> };

/**
 * Either the entries, perhaps none, and the state once they are on the line; or the units do not belong on this line:
 * the caller has to find the other branch that contains the record `seek`, or open a branch that leaves before `fork`,
 * or the line has become another one.
 */
type Decision = { drafts: UnitsDraft[]; next: FollowState } | Elsewhere | { isGone: true };
export type Elsewhere = { seek: string; after: string } | { fork: FreshUnit };

/** The number of steps to buffer before writing them. */
export const maxSteps = 512;

export const startOfLine: TurnPosition = { turn: null, length: 0, written: 0 };

/** The state for opening a log. */
export function startState(log: FollowedLog): FollowState {
  return {
    log,
    places: log.branches.map(({ at }) => at),
    position: log.position,
    unknownBefore: log.unknownBefore ?? log.unknown,
    unknown: 0,
    rawWritten: 0,
    latest: log.latest ?? 0,
    texts: log.lastTexts ?? { user: null, assistant: null },
    paused: 0,
    stops: null,
    isOwn: log.checkpoint !== null,
    copied: null,
    heldSteps: maxSteps,
  };
}

export function placeOf({ places }: FollowState, branch: number): TurnPosition {
  return places[branch] ?? startOfLine;
}

/** Records a branch's current place. */
export function putBranch(state: FollowState, branch: number, change: Partial<FollowedBranch>): FollowState {
  const { at = placeOf(state, branch), ...more } = change;
  const branches = put(state.log.branches, branch, { ...(state.log.branches[branch] ?? newBranch(null)), ...more });
  return { ...state, log: { ...state.log, branches }, places: put(state.places, branch, at) };
}

/** Records these units' texts as the latest ones. */
export function noteTexts(state: FollowState, units: readonly AgentUnit[], hash: Hash): FollowState {
  const texts = { ...state.texts };
  for (const record of units.flatMap(({ records }) => records)) {
    if ((record.type !== 'assistant' && record.type !== 'user') || !('content' in record.message)) continue;
    if (record.type === 'user') texts.assistant = null;
    texts[record.type] = hash(record.message.content.trim());
  }
  return { ...state, texts };
}

/**
 * Decides on the entries. A message opens the next turn, unless the user typed it while the model was working; so does
 * a plan when the turn already has one. Each unit becomes an entry; when the versions of a turn's transcript would grow
 * too large, several units share an entry. Never rewrites a record that the branch already contains.
 */
export function decide(state: FollowState, units: readonly AgentUnit[], facts: BranchFacts, hash: Hash): Decision {
  const { branch, line, opens, before, absent, isOfSession } = facts;
  const { last, ...anywhere } = placeOf(state, branch);
  const fresh = findFresh(line, last, units);
  if (fresh?.after !== undefined) {
    const { id, after } = fresh;
    const isHere = line.known.has(after);
    // When teddy reads the log from its beginning, another branch may contain the following units.
    const sought = last === undefined ? id : isHere ? null : after;
    if (sought !== null && !absent.has(sought)) return { seek: sought, after };
    if (!isHere && !isOfSession) return { isGone: true };
    // When no branch contains even that record, the user has moved the line back.
    if (!isHere) return decide({ ...state, places: put(state.places, branch, anywhere) }, units, facts, hash);
  }
  const all = before === null ? units : [before, ...units];
  const first = findFresh(line, last, all);
  if (first !== null && isLeft(line, first)) return { fork: first };
  const { planned, position } = planEntries(line, placeOf(state, branch), all, opens);
  const rawWritten = planned.length > 0 ? state.unknown : state.rawWritten;
  const next = { ...state, places: put(state.places, branch, position), latest: branch, rawWritten };
  return { drafts: planned.map((one) => toDraft(line, one, hash)), next };
}

/**
 * Returns the first record missing from the line, its unit, and the agent's preceding record; null when the line has
 * all records.
 */
export function findFresh({ known }: BranchLine, last: string | undefined, units: readonly AgentUnit[]) {
  let after = last;
  for (const unit of units)
    for (const { id } of unit.records) {
      if (!known.has(id)) return { id, unit, after };
      after = id;
    }
  return null;
}

type FreshUnit = NonNullable<ReturnType<typeof findFresh>>;

/**
 * Returns true if the agent's conversation continues elsewhere: others have continued the line, or a sync has moved the
 * turn off it.
 */
function isLeft(line: BranchLine, { unit, after }: FreshUnit): boolean {
  if (after === undefined) return false;
  const turn = line.known.get(after);
  const isInLast = line.isShared && turn !== undefined && turnNumber(turn) === line.lastTurn && !isNext(unit);
  return line.isTaken || turn === undefined || isInLast;
}

/** Returns true if the unit opens the next turn: a message that the user did not type while the model was working. */
export function isNext({ kind, queued }: AgentUnit): boolean {
  return kind === 'message' && queued !== true;
}

interface PlannedEntry {
  turn: TurnName;
  units: AgentUnit[];
}

/** The position while planning entries. */
interface PlanningPosition extends TurnPosition {
  lastTurn: number;
  /** A conversation branch's first turn, until something opens it. */
  opening: TurnName | null;
}

function planEntries(line: BranchLine, from: TurnPosition, units: readonly AgentUnit[], opens: TurnName | null) {
  const planned: PlannedEntry[] = [];
  const to: PlanningPosition = { ...from, lastTurn: line.lastTurn, opening: opens };
  const moveTo = (turn: TurnName | null) => Object.assign(to, { turn, written: 0, length: 0 });
  // The user has moved the line back, so its turn is gone.
  if (to.turn !== null && turnNumber(to.turn) > to.lastTurn) moveTo(null);
  const withPlan = new Set(line.planned);
  const added = new Map<string, TurnName>();
  const find = (id: string) => line.known.get(id) ?? added.get(id);
  for (const [at, unit] of units.entries()) {
    const fresh = unit.records.filter(({ id }) => find(id) === undefined);
    const seenIn = unit.records.map(({ id }) => find(id)).find((one) => one !== undefined);
    // An earlier attempt has opened the branch.
    if (seenIn !== undefined && seenIn === to.opening) to.opening = null;
    const last = unit.records.at(-1)?.id;
    if (last !== undefined && (fresh.length > 0 || seenIn !== undefined)) to.last = last;
    if (fresh.length === 0) {
      if (seenIn !== undefined && seenIn !== to.turn) moveTo(seenIn);
      continue;
    }
    // An older teddy that did not read plans yet has already written the units after this plan.
    if (isPlan(unit) && units.slice(at + 1).some(({ records }) => records.some(({ id }) => line.known.has(id))))
      continue;
    const isMessage = isNext(unit) && to.isSilent !== true;
    // A plan belongs to the latest turn, and only if that turn has no plan.
    const isNextPlan = isPlan(unit) && to.turn !== null && (withPlan.has(to.turn) || turnNumber(to.turn) < to.lastTurn);
    const opensTurn = to.turn === null || isMessage || isNextPlan;
    if (to.opening !== null || (opensTurn && seenIn === undefined)) {
      const turn = to.opening ?? toTurnName(to.lastTurn + 1);
      moveTo(turn);
      to.opening = null;
      to.lastTurn = Math.max(to.lastTurn, turnNumber(turn));
    } else if (seenIn !== undefined) to.turn = seenIn;
    const isNote = unit.records.every(({ type }) => type === 'note');
    to.isSilent = isNote && (to.isSilent === true || to.length === 0);
    const name = to.turn ?? toTurnName(1);
    if (isPlan(unit)) withPlan.add(name);
    for (const { id } of fresh) added.set(id, name);
    to.length += fresh.reduce((sum, record) => sum + encodeRecord(record).length, 0);
    const entry = planned.at(-1);
    const isOver = to.written + to.length > versionLimits.free + versionLimits.times * to.length;
    const mayJoin = entry?.turn === name && !isPlan(unit) && !entry.units.some(isPlan);
    if (isOver && mayJoin) entry.units.push({ ...unit, records: fresh });
    else {
      planned.push({ turn: name, units: [{ ...unit, records: fresh }] });
      to.written += to.length;
    }
  }
  const { turn, length, written, isSilent = false, last } = to;
  return { planned, position: { turn, length, written, isSilent, ...(last === undefined ? {} : { last }) } };
}

const isPlan = ({ kind }: Pick<AgentUnit, 'kind'>): boolean => kind === 'plan';

function toDraft({ session, entry }: BranchLine, { turn, units }: PlannedEntry, hash: Hash): UnitsDraft {
  const first = units[0]?.records[0];
  const plan = units.find(isPlan)?.plan;
  return {
    ...describeUnits(units),
    turn,
    id: toDerivedId(hash, first?.timestamp ?? entry.created, `${session}\n${turn}\n${first?.id ?? ''}`),
    at: units.at(-1)?.records.at(-1)?.timestamp,
    records: units.flatMap(({ records }) => records),
    files: plan === undefined ? {} : { 'plan.md': plan },
  };
}

function put<Item>(list: readonly Item[], at: number, item: Item): Item[] {
  return Object.assign([...list], { [at]: item });
}

/** Returns a UUID version 7 with the record's time; the rest comes from a hash of `name`. */
export function toDerivedId(hash: Hash, time: string, name: string): string {
  const hex = hash(name);
  const ms = Math.max(0, Math.trunc(Date.parse(time)) || 0)
    .toString(16)
    .padStart(12, '0')
    .slice(-12);
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${hex.slice(0, 3)}-a${hex.slice(3, 6)}-${hex.slice(6, 18)}`;
}
