/** Appends the units of a log to a branch of its line. A record that the branch has already is not written again. */
import type { AgentLine, AgentUnit } from '../../conversation/logs/agent-log.ts';
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import { captureSource, type KnownRecord } from '../../conversation/records/record.ts';
import { encodeRecord, hasAgentPlan, mayEndOpen, versionLimits } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { Project, Hash } from '../../ports/project.ts';
import {
  isTurnName,
  sessionDir,
  sortTurns,
  toTurnName,
  turnNumber,
  type Oid,
  type RefName,
  type TurnName,
} from '../../names.ts';
import { append, type AppendedEntry, type Draft, type Line } from '../line/append.ts';
import { describeUnits } from '../line/describe-records.ts';
import { readLineTurns, readTurnState, toText, type LineTurns } from '../../view/view.ts';
import { workspaceOn } from './work-tree-of.ts';

/** A branch as it is written to: what its ref is at, and the records that it has. */
export interface BranchLine extends LineTurns {
  ref: RefName;
  /** The turn of each record, by its id; those of turns before the first one that was asked for are missing. */
  known: Map<string, TurnName>;
  /** The number of the last turn on the line, whoever opened it. */
  lastTurn: number;
  /** The turns that have a plan, as far as `known` has their records. */
  planned: Set<TurnName>;
  /** The last turn waits for an answer to somebody else's message, or for a run of teddy's: no turn of the agent's can follow. */
  isTaken: boolean;
  /** In the last turn, somebody else has gone on after the agent's words: no more of those can follow. */
  isShared: boolean;
  /** The newest code on the line is somebody else's: a work tree that is not on the line does not have it. */
  hasCode: boolean;
}

/** The place in the conversation, as it is noted between two readings of the log. */
export interface TurnPosition {
  turn: TurnName | null;
  /** Characters of the turn's transcript, and of all its versions together. */
  length: number;
  written: number;
  /** The turn has nothing but notes yet: the first message joins it. */
  isSilent?: boolean;
  /** The record after which the next one comes. */
  last?: string;
}

/** The first record that the line does not have, its unit, and the record of the agent's after which it comes. */
export interface FreshUnit {
  id: string;
  unit: AgentUnit;
  after: string | undefined;
}

export interface UnitsToWrite {
  units: readonly AgentUnit[];
  /** Lines of the log that no reader understands. */
  raw: readonly AgentLine[];
  /** The first turn of a conversation branch: the next unit goes there. */
  opens?: TurnName;
}

export interface WrittenUnits {
  position: TurnPosition;
  entries: number;
  records: number;
  /** Null: nothing was new. */
  commit: Oid | null;
  /** The agent's conversation does not go on there, since somebody wrote to the line at this moment. */
  isLeft?: true;
}

/** Reads the branch again, with the records of all turns from `from` on. Throws REF_MOVED where it is gone. */
export async function readBranchLine(
  project: Project,
  { ref, session }: Pick<BranchLine, 'ref' | 'session'>,
  from: TurnName | null,
): Promise<BranchLine> {
  const { store } = project.repository;
  const tip = await store.resolve(ref);
  if (tip === null) throw new TeddyError('REF_MOVED', `${ref} is gone.`, '`teddy session list` shows the lines.');
  const place = await readLineTurns(store, tip);
  const { turns, entryOid } = place;
  const first = from === null ? 0 : turnNumber(from);
  const known = new Map<string, TurnName>();
  const planned = new Set<TurnName>();
  const last = turns.at(-1);
  let [isOwn, isShared, hasCode] = [false, false, tip !== entryOid];
  const isWanted = (path: string): boolean => {
    const [turn = '', name] = path.split('/');
    if (!isTurnName(turn) || turnNumber(turn) < first) return false;
    if (name === 'plan.md') planned.add(turn);
    if (turn === last) [isShared, hasCode] = [isShared || name === '_context.log', hasCode || name === 'report.md'];
    return name === 'transcript.jsonl';
  };
  for await (const files of store.readFilesBelow(entryOid, sessionDir(session), isWanted)) {
    for (const { path, bytes } of files) {
      const turn = path.split('/')[0] as TurnName;
      const { records } = decodeTranscript(toText(bytes));
      for (const record of records) if (record.type !== 'other') known.set(record.id, turn);
      if (turn !== last) continue;
      isOwn = mayEndOpen(records) && (hasAgentPlan(records) || !planned.has(turn));
      const said = records.findLast(({ type }) => type === 'user' || type.startsWith('assistant'));
      isShared ||= said !== undefined && 'source' in said && !['import', captureSource].includes(said.source);
    }
  }
  const latest = last === undefined || isOwn ? null : await readTurnState(store, entryOid, session, last);
  // A branch that was just opened has nothing in its turn yet.
  const waits = latest?.status === 'open' && latest.records.length > 0 && !mayEndOpen(latest.records);
  const isTaken = latest?.status === 'planned' || waits;
  const lastTurn = Math.max(0, ...turns.map(turnNumber));
  return { ...place, ref, known, lastTurn, planned, isTaken, isShared, hasCode };
}

/** Reads it anew where it has moved. */
export async function refreshBranchLine(project: Project, line: BranchLine, from: TurnName | null): Promise<void> {
  const tip = await project.repository.store.resolve(line.ref);
  if (tip !== line.tip) Object.assign(line, await readBranchLine(project, line, from));
}

/** Null: the line has them all. */
export function findFresh(
  { known }: BranchLine,
  { last }: TurnPosition,
  units: readonly AgentUnit[],
): FreshUnit | null {
  let after = last;
  for (const unit of units)
    for (const { id } of unit.records) {
      if (!known.has(id)) return { id, unit, after };
      after = id;
    }
  return null;
}

/** Whether the agent's conversation goes on elsewhere: others have gone on there, or a sync has moved the turn off the line. */
export function isLeft(line: BranchLine, { unit, after }: FreshUnit): boolean {
  if (after === undefined) return false;
  const turn = line.known.get(after);
  const isInLast = line.isShared && turn !== undefined && turnNumber(turn) === line.lastTurn && !isNext(unit);
  return line.isTaken || turn === undefined || isInLast;
}

/** A message opens the next turn, unless it was typed while the model was at work. */
export function isNext({ kind, queued }: AgentUnit): boolean {
  return kind === 'message' && queued !== true;
}

interface PlannedEntry {
  turn: TurnName;
  units: AgentUnit[];
}

/**
 * `line` is brought up to date. A message opens the next turn, unless it was typed while the model was at work; so does a plan where
 * the turn has one already. Each unit becomes an entry; where the versions of a turn's transcript would grow too large, many become
 * one. Nothing is written where the agent's conversation does not go on there.
 */
export async function writeUnits(
  project: Project,
  line: BranchLine,
  from: TurnPosition,
  wanted: UnitsToWrite,
): Promise<WrittenUnits> {
  const { commit, entry, value } = await append(project, toTarget(project, line, from.turn), async () => {
    const fresh = findFresh(line, from, wanted.units);
    if (fresh !== null && isLeft(line, fresh))
      return { leave: { position: from, planned: [], isLeft: true as const }, asRead: true };
    const { planned, position } = planEntries(line, from, wanted);
    if (planned.length === 0) return { leave: { position, planned }, asRead: true };
    const [first, ...rest] = planned.map((one) => toDraft(project, line, one));
    const raw = wanted.raw.length === 0 ? '' : await readFresh(project, line, wanted.raw);
    const files = { ...first?.files, ...(raw === '' ? {} : { 'raw.jsonl': raw }) };
    return { drafts: first === undefined ? [] : [{ ...first, files }, ...rest], value: { position, planned } };
  });
  const { planned, ...rest } = value;
  const records = planned.flatMap(({ turn, units }) =>
    units.flatMap((unit) => unit.records.map(({ id }) => ({ id, turn }))),
  );
  if (commit !== null) {
    const turns = sortTurns([...new Set([...line.turns, ...planned.map(({ turn }) => turn)])]);
    Object.assign(line, toPlace({ commit, entry }), { turns, isTaken: false, isShared: false, hasCode: false });
    for (const { id, turn } of records) line.known.set(id, turn);
    for (const { turn, units } of planned) if (units.some(isPlan)) line.planned.add(turn);
    line.lastTurn = Math.max(line.lastTurn, ...planned.map(({ turn }) => turnNumber(turn)));
  }
  return { ...rest, entries: planned.length, records: records.length, commit };
}

/** The branch as `append` takes it: it is brought up to date first, and nobody is told of it. */
export function toTarget(project: Project, line: BranchLine, from: TurnName | null): Line<BranchLine> {
  const { ref, session } = line;
  const read = async () => {
    await refreshBranchLine(project, line, from);
    return line;
  };
  return { ref, workspace: () => workspaceOn(project, ref), read, reason: `capture ${session}`, isQuiet: true };
}

/** The place after an entry that was appended. */
export function toPlace({ commit, entry }: Pick<AppendedEntry, 'commit' | 'entry'>) {
  return { tip: commit, entryOid: commit, entry };
}

function planEntries(line: BranchLine, from: TurnPosition, { units, opens }: UnitsToWrite) {
  const planned: PlannedEntry[] = [];
  let { turn, length, written, isSilent = false, last } = from;
  let [lastTurn, opening] = [line.lastTurn, opens];
  // The user has moved the line back: its turn is gone.
  if (turn !== null && turnNumber(turn) > lastTurn) [turn, written, length] = [null, 0, 0];
  const withPlan = new Set(line.planned);
  const added = new Map<string, TurnName>();
  const find = (id: string) => line.known.get(id) ?? added.get(id);
  for (const [at, unit] of units.entries()) {
    const fresh = unit.records.filter(({ id }) => find(id) === undefined);
    const seenIn = unit.records.map(({ id }) => find(id)).find((one) => one !== undefined);
    // An earlier attempt has opened the branch.
    if (seenIn !== undefined && seenIn === opening) opening = undefined;
    if (fresh.length > 0 || seenIn !== undefined) last = unit.records.at(-1)?.id ?? last;
    if (fresh.length === 0) {
      if (seenIn !== undefined && seenIn !== turn) [turn, written, length] = [seenIn, 0, 0];
      continue;
    }
    // A teddy that did not read plans yet has written what comes after it.
    if (isPlan(unit) && units.slice(at + 1).some(({ records }) => records.some(({ id }) => line.known.has(id))))
      continue;
    const isMessage = isNext(unit) && !isSilent;
    // A plan belongs to the latest turn, which has no other.
    const isNextPlan = isPlan(unit) && turn !== null && (withPlan.has(turn) || turnNumber(turn) < lastTurn);
    const opensTurn = turn === null || isMessage || isNextPlan;
    if (opening !== undefined || (opensTurn && seenIn === undefined)) {
      turn = opening ?? toTurnName(lastTurn + 1);
      [written, length, opening] = [0, 0, undefined];
      lastTurn = Math.max(lastTurn, turnNumber(turn));
    } else if (seenIn !== undefined) turn = seenIn;
    const isNote = unit.records.every(({ type }) => type === 'note');
    isSilent = isNote && (isSilent || length === 0);
    const name = turn ?? toTurnName(1);
    if (isPlan(unit)) withPlan.add(name);
    for (const { id } of fresh) added.set(id, name);
    length += fresh.reduce((sum, record) => sum + encodeRecord(record).length, 0);
    const entry = planned.at(-1);
    const isOver = written + length > versionLimits.free + versionLimits.times * length;
    const mayJoin = entry?.turn === name && !isPlan(unit) && !entry.units.some(isPlan);
    if (isOver && mayJoin) entry.units.push({ ...unit, records: fresh });
    else {
      planned.push({ turn: name, units: [{ ...unit, records: fresh }] });
      written += length;
    }
  }
  return { planned, position: { turn, length, written, isSilent, ...(last === undefined ? {} : { last }) } };
}

const isPlan = ({ kind }: Pick<AgentUnit, 'kind'>): boolean => kind === 'plan';

function toDraft(project: Project, { session, entry }: BranchLine, { turn, units }: PlannedEntry): Draft {
  const first = units[0]?.records[0];
  const plan = units.find(isPlan)?.plan;
  return {
    ...describeUnits(units),
    turn,
    id: toDerivedId(project.hash, first?.timestamp ?? entry.created, `${session}\n${turn}\n${first?.id ?? ''}`),
    at: units.at(-1)?.records.at(-1)?.timestamp,
    records: units.flatMap(({ records }) => records.map(toCaptured)),
    files: plan === undefined ? {} : { 'plan.md': plan },
  };
}

function toCaptured(record: KnownRecord): KnownRecord {
  return 'source' in record && record.source === 'import' ? { ...record, source: captureSource } : record;
}

/** The lines that the session does not have yet, masked. */
async function readFresh(project: Project, line: BranchLine, lines: readonly AgentLine[]): Promise<string> {
  const known = new Set<string>();
  const isRaw = (path: string): boolean => path.endsWith('/raw.jsonl');
  const { store } = project.repository;
  for await (const files of store.readFilesBelow(line.entryOid, sessionDir(line.session), isRaw))
    for (const { bytes } of files) for (const text of toText(bytes).split('\n')) known.add(text);
  const masked = await Promise.all(lines.map(({ text }) => project.masker.mask(text ?? '')));
  return masked.flatMap(({ text }) => (known.has(text) ? [] : [`${text}\n`])).join('');
}

/** A UUID of version 7 with the time of the record, and the rest from a hash of `name`. */
export function toDerivedId(hash: Hash, time: string, name: string): string {
  const hex = hash(name);
  const ms = Math.max(0, Math.trunc(Date.parse(time)) || 0)
    .toString(16)
    .padStart(12, '0')
    .slice(-12);
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${hex.slice(0, 3)}-a${hex.slice(3, 6)}-${hex.slice(6, 18)}`;
}
