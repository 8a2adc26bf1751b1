/** Follows one log: reads its new lines, appends the resulting entries to the lines, and records its position. */
import type { AgentLine, AgentLogReader, AgentStep, AgentUnit } from '../../conversation/logs/agent-log.ts';
import type { ImportReport } from '../../conversation/logs/importer.ts';
import { fieldsOf, parseJson } from '../../conversation/records/import-values.ts';
import { agents } from '../../agents/agents.ts';
import { loadAgentLog } from '../../agents/open-log.ts';
import type { Capture, LogPosition } from '../../ports/agent-logs.ts';
import type { Project } from '../../ports/project.ts';
import { toTurnName, type RefName } from '../../names.ts';
import { listFollowedLogs, newFollowedLog, toFollowedLog, leftOutKey } from './capture.ts';
import type { FollowedLog, TurnPosition } from './capture.ts';
import { decide, findFresh, maxSteps, noteTexts, placeOf, putBranch } from './decide-entries.ts';
import { startOfLine, startState } from './decide-entries.ts';
import type { BranchFacts, BranchLine, Copied, Elsewhere, FollowState } from './decide-entries.ts';
import { readLineTurns, readRecords } from '../../view/view.ts';
import {
  appendUnits,
  findCapturedLine,
  findRecordElsewhere,
  isOfSession,
  belongsElsewhere,
  openBranchLine,
  openFork,
  refreshBranchLine,
  startLine,
  type ForeignSession,
} from './open-line.ts';

type OpenBranch = Pick<BranchFacts, 'line'> & Partial<BranchFacts>;

export interface FollowOptions {
  /** The session's ID, if the log does not contain it. */
  id?: string;
  /** The agent's process. */
  pid?: number;
  /** The session's original directory, if the log does not contain it. */
  cwd: string | null;
  /**
   * Returns true if the session belongs to this repository, judging by its original directory; called before teddy
   * makes its line.
   */
  isOurs(cwd: string | null): Promise<boolean>;
  /** Returns true if a record must be omitted because capture was paused; `time` is in ISO 8601. */
  isLeftOut(time: unknown): boolean;
  /** Called with the line's current state before teddy writes a message. */
  beforeMessage?(line: BranchLine): Promise<void>;
}

/** The latest lines to remember, because a hook may name one. */
const recentLimits = { lines: 16, characters: 256 * 1024 };

/** A followed log, with everything opened for it. Each step replaces the state. */
export interface Follower {
  readonly project: Project;
  readonly capture: Capture;
  readonly agent: FollowedLog['agent'];
  readonly path: string;
  readonly options: FollowOptions;
  readonly openLog: Awaited<ReturnType<typeof loadAgentLog>>;
  /** The `session` in its log is null while there is nothing to keep. */
  state: FollowState;
  reader: AgentLogReader;
  /** True when the reader has determined that nothing more follows. */
  isSettled: boolean;
  /** Steps that are not on a line yet. */
  readonly pending: AgentStep[];
  readonly recent: string[];
  readonly branches: Map<number, BranchFacts>;
  realCwd: string | null;
}

export async function openFollower(
  project: Project,
  capture: Capture,
  { agent, path }: Pick<FollowedLog, 'agent' | 'path'>,
  options: FollowOptions,
): Promise<Follower> {
  const openLog = await loadAgentLog(agent);
  const known = toFollowedLog(await capture.states.read(path));
  const state = startState(known ?? newFollowedLog(agent, path, timeOf(project)));
  const reader = openReader({ project, openLog, state });
  const empty = { isSettled: false, pending: [], recent: [], branches: new Map(), realCwd: null };
  return { project, capture, agent, path, options, openLog, state, reader, ...empty };
}

function timeOf({ clock }: Project): string {
  return clock.now().toISOString();
}

function openReader({ project, openLog, state }: Pick<Follower, 'project' | 'openLog' | 'state'>): AgentLogReader {
  const { checkpoint } = state.log;
  const options = { hash: project.hash, importedAt: timeOf(project) };
  return openLog(checkpoint === null ? options : { ...options, checkpoint });
}

/** Starts reading the log from its beginning; teddy recognizes units that are already on the lines by their IDs. */
function restart(one: Follower): void {
  const branches = one.state.log.branches.map((branch) => ({ ...branch, at: startOfLine }));
  const log = { ...one.state.log, position: null, checkpoint: null, branches };
  const nothing = { position: null, unknownBefore: 0, unknown: 0, rawWritten: 0, isOwn: false };
  one.state = { ...one.state, log, places: [], ...nothing };
  one.reader = openReader(one);
  one.pending.splice(0);
  one.branches.clear();
}

/** Captures the new lines. Never writes anything twice, whatever has happened before. */
export async function advance(one: Follower): Promise<void> {
  const { capture, agent, path, pending, recent } = one;
  const { log, position } = one.state;
  const stat = await capture.logs.stat(agent, path);
  if (log.stopped === 'elsewhere') return;
  if (stat === null) {
    if (log.stopped !== 'vanished') await save(one, { stopped: 'vanished' });
    return;
  }
  let reading = await capture.logs.read(path, position);
  if (reading === null && position !== null) {
    restart(one);
    reading = await capture.logs.read(path, null);
  }
  if (reading === null) return;
  for await (const line of reading.lines) {
    if (line.text !== null && line.text.length <= recentLimits.characters) recent.push(line.text);
    if (recent.length > recentLimits.lines) recent.shift();
    one.isSettled = false;
    one.reader.line(line);
    if (one.reader.needsStart()) {
      restart(one);
      return advance(one);
    }
    const steps = pending.push(...one.reader.take());
    if (steps >= one.state.heldSteps) await write(one, reading.position());
  }
  await write(one, reading.position());
  await save(one, { seen: { size: stat.size, mtimeMs: stat.mtimeMs }, stopped: one.state.stops });
}

/**
 * Captures the new lines and treats everything open as complete, because the agent reported the end of its turn or has
 * been quiet.
 */
export async function settle(one: Follower): Promise<void> {
  await advance(one);
  if (one.isSettled) return;
  one.reader.settle();
  one.isSettled = true;
  one.pending.push(...one.reader.take());
  await write(one, one.state.position);
  await save(one, one.state.stops === 'line-gone' ? { stopped: 'line-gone' } : {});
}

/** Writes the pending steps whose lines exist. */
async function write(one: Follower, readTo: LogPosition | null): Promise<void> {
  const { capture, options, pending, project, reader } = one;
  const unknown = reader.unknown().length;
  one.state = { ...one.state, unknown };
  const begun = reader.head().cwd ?? one.state.log.cwd ?? options.cwd;
  one.realCwd = begun === null ? null : await capture.logs.realPath(begun);
  if (pending.length > 0 && one.state.log.session === null && !(await isWanted(one))) {
    one.state = { ...one.state, stops: 'elsewhere' };
    pending.splice(0);
  }
  if (!one.state.isOwn && pending.length > 0 && !(await dropCopiedUnits(one))) {
    one.state = { ...one.state, position: readTo, heldSteps: maxSteps + 2 * pending.length };
    return;
  }
  for (let units = takeForks(one); units[0] !== undefined; units = takeForks(one)) {
    const isPaused = ({ records }: AgentUnit) => options.isLeftOut(records[0]?.timestamp);
    const kept = units.filter((unit) => !isPaused(unit));
    const written = await writeBranch(one, units[0].branch, kept);
    if (written === null) break;
    pending.splice(0, units.length);
    const { log } = one.state;
    const model = units.findLast((unit) => unit.model !== undefined)?.model ?? log.model;
    const counts = { entries: log.entries + written.entries, records: log.records + written.records };
    const paused = one.state.paused + units.filter(isPaused).flatMap(({ records }) => records).length;
    one.state = noteTexts({ ...one.state, paused, log: { ...log, ...counts, model } }, units, project.hash);
  }
  one.state = { ...one.state, position: readTo };
  // Lines that no reader understands wait for the next entry, and teddy rereads them until then.
  const checkpoint = pending.length > 0 || one.state.rawWritten < unknown ? null : reader.checkpoint();
  if (checkpoint === null) return;
  const { log, places, unknownBefore } = one.state;
  const branches = log.branches.map((branch, at) => ({ ...branch, at: places[at] ?? branch.at }));
  const read = { branches, checkpoint, position: readTo, unknownBefore: unknownBefore + unknown };
  one.state = { ...one.state, log: { ...log, ...read } };
}

async function isWanted(one: Follower): Promise<boolean> {
  const { agent, capture, options, reader } = one;
  const leftOut = await capture.states.read(leftOutKey(agent, toForeign(one).id));
  return leftOut === null && (await options.isOurs(reader.head().cwd ?? options.cwd));
}

/** Records the next forks, and returns the following units of a single branch. */
function takeForks(one: Follower): AgentUnit[] {
  const { pending } = one;
  for (let [step] = pending; step !== undefined && 'fork' in step; [step] = pending) {
    const { branch, leaves, after } = step.fork;
    const isKnown = one.state.log.branches[branch] !== undefined;
    one.state = putBranch(one.state, branch, isKnown ? {} : { leaves: { branch: leaves, after } });
    pending.shift();
  }
  const end = pending.findIndex((step) => !('unit' in step) || step.unit.branch !== unitsOf(pending)[0]?.branch);
  return unitsOf(end === -1 ? pending : pending.slice(0, end));
}

/** Drops the units that another log also contains. Returns false when no other units have arrived yet. */
async function dropCopiedUnits(one: Follower): Promise<boolean> {
  const { log } = one.state;
  const units = unitsOf(one.pending);
  const own = units.findIndex(({ records }) => records.some(({ id }) => id === log.firstOwn));
  const isNew = (log.branches[0]?.ref ?? null) === null || log.firstOwn !== undefined;
  if (own === -1 && isNew) one.state = { ...one.state, copied: await findCopied(one, units) };
  const count = own === -1 ? (one.state.copied?.count ?? 0) : own;
  const first = units[count]?.records[0];
  if (first === undefined) return false;
  one.pending.splice(0, count);
  one.state = { ...one.state, isOwn: true, log: count > 0 ? { ...log, firstOwn: first.id } : log };
  return true;
}

/** Finds the place on a related log's line after which this log continues, and the number of its units before that place. */
async function findCopied(one: Follower, units: readonly AgentUnit[]): Promise<Copied | null> {
  const { id } = toForeign(one);
  const others = await listOthers(one);
  const family = new Set([id, ...one.reader.head().copiedFrom]);
  const isRelated = (other: FollowedLog) => [other.id, ...(other.copiedFrom ?? [])].some((name) => family.has(name));
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const other of others.filter(isRelated))
      for (const name of [other.id, ...(other.copiedFrom ?? [])]) family.add(name);
  }
  const contents = units.map(toContent);
  let [found, place]: [Copied | null, number] = [null, -1];
  for (const { ref, ...other } of others.filter((log) => log.id !== id && isRelated(log))) {
    const theirs = await readUnits(one, other, null);
    const differs = contents.findIndex((content, at) => theirs[at] === undefined || content !== toContent(theirs[at]));
    const count = differs === -1 ? contents.length : differs;
    const line = await openBranchLine(one.project, ref, startOfLine);
    const isThere = ({ records }: AgentUnit) => line.known.has(records.at(-1)?.id ?? '');
    const last = theirs.slice(0, count).findLastIndex(isThere);
    if (last > place) [found, place] = [{ line, after: theirs[last]?.records.at(-1)?.id ?? null, count }, last];
  }
  return found;
}

/** Appends units that are not in the log to the most recently written line. Returns the number of entries. */
export async function addUnits(one: Follower, units: AgentUnit[]): Promise<number> {
  const { line, turn } = (await findPlace(one)) ?? {};
  // A killed drainer may not have saved its place in the turn, and the log to find it again may be gone.
  if (line !== undefined && turn === null && line.lastTurn > 0 && !line.isTaken && !line.isShared)
    one.state = putBranch(one.state, one.state.latest, { at: { ...startOfLine, turn: toTurnName(line.lastTurn) } });
  const written = await writeBranch(one, one.state.latest, units);
  if (written !== null) one.state = noteTexts(one.state, units, one.project.hash);
  await save(one, {});
  return written?.entries ?? 0;
}

/** Writes units to the branch on which the agent's conversation now continues. Returns null when their line is gone. */
async function writeBranch(one: Follower, branch: number, units: readonly AgentUnit[]) {
  const { project, options, reader } = one;
  const [first] = units;
  if (first === undefined) return { entries: 0, records: 0 };
  for (;;) {
    const facts = await openBranch(one, branch, first);
    if (facts === null) return null;
    const { line } = facts;
    await refreshBranchLine(project, line, placeOf(one.state, branch).turn);
    line.isTaken ||= await belongsElsewhere(project, line, toForeign(one).cwd ?? '/');
    const decided = decide(one.state, units, facts, project.hash);
    if ('isGone' in decided) {
      one.state = { ...one.state, stops: 'line-gone' };
      one.branches.delete(branch);
      return null;
    }
    if (!('drafts' in decided)) {
      await continueElsewhere(one, facts, decided);
      continue;
    }
    if (first.kind === 'message') await options.beforeMessage?.(line);
    const isKept = ({ text }: AgentLine) => text !== null && !options.isLeftOut(fieldsOf(parseJson(text))['timestamp']);
    const raw = reader.unknown().slice(one.state.rawWritten).filter(isKept);
    const written = await appendUnits(project, one.state, units, { facts, raw });
    if (written === null) continue;
    one.state = written.next;
    setBranch(one, branch, { line }, placeOf(one.state, branch));
    return written;
  }
}

/** Continues on the other branch that contains the record, or on a new one; or records that no other branch contains it. */
async function continueElsewhere(one: Follower, facts: BranchFacts, decided: Elsewhere): Promise<void> {
  const { project } = one;
  const { branch, line } = facts;
  const foreign = toForeign(one);
  if ('fork' in decided) {
    const { after = null, unit: first } = decided.fork;
    const left = await openBranchLine(project, line.ref, startOfLine);
    setBranch(one, branch, await openFork(project, { left, after, first, foreign }), startOfLine);
    return;
  }
  const { seek, after: last } = decided;
  const elsewhere = await findRecordElsewhere(project, line, seek);
  facts.absent.add(seek);
  if (elsewhere !== null) setBranch(one, branch, elsewhere, { ...startOfLine, turn: elsewhere.turn, last });
  else if (!line.known.has(last)) facts.isOfSession = await isOfSession(project, line.tip, foreign);
}

async function openBranch(one: Follower, branch: number, first: AgentUnit): Promise<BranchFacts | null> {
  const open = one.branches.get(branch);
  if (open !== undefined) return open;
  const found = await findBranch(one, branch, first);
  if (found === null) return null;
  const opened = setBranch(one, branch, found, placeOf(one.state, branch));
  const { log } = one.state;
  const firstRecord = log.firstRecord ?? first.records[0]?.id ?? null;
  one.state = { ...one.state, log: { ...log, firstRecord, session: log.session ?? found.line.session } };
  return opened;
}

/** Sets the branch to this line, with no other known facts. */
function setBranch(one: Follower, branch: number, { line, opens = null, before = null }: OpenBranch, at: TurnPosition) {
  const facts = { branch, line, opens, before, absent: new Set<string>(), isOfSession: false };
  one.branches.set(branch, facts);
  one.state = putBranch(one.state, branch, { ref: line.ref, at });
  return facts;
}

async function findBranch(one: Follower, branch: number, first: AgentUnit): Promise<OpenBranch | null> {
  const { project, state } = one;
  const { ref = null, leaves = null } = state.log.branches[branch] ?? {};
  if (ref !== null) {
    // The user has deleted or archived the branch; teddy writes new units once the branch exists again.
    const isGone = (await project.repository.store.resolve(ref)) === null;
    one.state = { ...state, stops: isGone ? 'line-gone' : null };
    return isGone ? null : { line: await openBranchLine(project, ref, placeOf(state, branch)) };
  }
  const foreign = toForeign(one);
  if (leaves !== null) {
    const open = await openBranch(one, leaves.branch, first);
    if (open === null) return null;
    const left = await openBranchLine(project, open.line.ref, startOfLine);
    return openFork(project, { left, after: leaves.after, first, foreign });
  }
  const there = await findCapturedLine(project, foreign);
  if (there !== null) return { line: await openBranchLine(project, there, startOfLine) };
  const base = await findForkedFrom(one, first);
  if (base !== null) return base.first === null ? null : openFork(project, { ...base, first: base.first, foreign });
  const message = unitsOf(one.pending).find(({ kind }) => kind === 'message');
  return { line: await startLine(project, foreign, message ?? first) };
}

function toForeign({ project, agent, path, options, state: { log }, reader, realCwd }: Follower): ForeignSession {
  const head = reader.head();
  // Stored in a trailer, so this must be a single word, whatever the log or the hook contains.
  const id = (head.id ?? (log.id || options.id || (agents[agent].logs.idOf?.(path) ?? nameOf(path))))
    .replaceAll(/\s+/g, '-')
    .slice(0, 200);
  const cwd = realCwd ?? log.cwd ?? options.cwd;
  return { agent, id, cwd, startedAt: head.startedAt ?? log.startedAt ?? timeOf(project) };
}

/** Finds the same agent's other session that has this session's first records, or that this session names as its origin. */
async function findForkedFrom(one: Follower, first: AgentUnit) {
  const { copied } = one.state;
  if (copied !== null) return { left: copied.line, after: copied.after, first };
  const { forkedFrom } = one.reader.head();
  const firstId = first.records[0]?.id ?? '';
  for (const { ref, ...other } of await listOthers(one)) {
    const isOrigin = forkedFrom === null ? other.firstRecord === firstId : other.id === forkedFrom.id;
    if (!isOrigin) continue;
    const left = await openBranchLine(one.project, ref, startOfLine);
    if (forkedFrom !== null) {
      const last = (await readUnits(one, other, forkedFrom.endOffset)).at(-1)?.records.at(-1);
      return { left, after: last?.id ?? null, first };
    }
    // A fork repeats its origin's records under their own IDs. The origin may be from before teddy read plans.
    const units = unitsOf(one.pending).filter(({ kind }) => kind !== 'plan');
    const fresh = findFresh(left, undefined, units);
    const after = fresh === null ? units.at(-1)?.records.at(-1)?.id : fresh.after;
    if (after !== undefined) return { left, after, first: fresh?.unit ?? null };
  }
  return null;
}

/** Lists the agent's other logs that have existing lines. */
async function listOthers({ project, capture, agent, path }: Follower) {
  const others: (FollowedLog & { ref: RefName })[] = [];
  for (const other of await listFollowedLogs(capture)) {
    const ref = other.branches[0]?.ref ?? null;
    if (other.agent !== agent || other.path === path || ref === null) continue;
    if ((await project.repository.store.resolve(ref)) !== null) others.push({ ...other, ref });
  }
  return others;
}

/** Reads the units on a log's first branch, up to a byte offset. */
async function readUnits(one: Follower, { path }: FollowedLog, endOffset: number | null): Promise<AgentUnit[]> {
  const reading = await one.capture.logs.read(path, null);
  if (reading === null) return [];
  const earlier = one.openLog({ hash: one.project.hash, importedAt: timeOf(one.project) });
  for await (const line of reading.lines) {
    if (endOffset !== null && reading.position().offset > endOffset) break;
    earlier.line(line);
  }
  earlier.settle();
  return unitsOf(earlier.take()).filter(({ branch }) => branch === 0);
}

function unitsOf(steps: readonly AgentStep[]): AgentUnit[] {
  return steps.flatMap((step) => ('unit' in step ? [step.unit] : []));
}

async function save(one: Follower, change: Partial<FollowedLog>): Promise<void> {
  const { project, capture, path, options, state, reader, pending } = one;
  const head = reader.head();
  const log: FollowedLog = {
    ...state.log,
    ...change,
    id: toForeign(one).id,
    cwd: head.cwd ?? state.log.cwd ?? options.cwd,
    agentVersion: head.version ?? state.log.agentVersion,
    startedAt: head.startedAt ?? state.log.startedAt,
    copiedFrom: head.copiedFrom,
    unknown: state.unknownBefore + state.unknown,
    pid: options.pid ?? state.log.pid,
    latest: state.latest,
    lastTexts: state.texts,
    isWhole: pending.length === 0 && reader.checkpoint() !== null,
    updatedAt: timeOf(project),
  };
  one.state = { ...state, log };
  await capture.states.write(path, { ...log });
}

/** Returns the most recently read line and its open turn; null when nothing has been written yet, or the line is gone. */
export async function findPlace({ project, state, branches }: Follower) {
  const { store } = project.repository;
  const ref = state.log.branches[state.latest]?.ref ?? null;
  if (ref === null || (await store.resolve(ref)) === null) return null;
  const place = placeOf(state, state.latest);
  const { turn, last } = place;
  const line = branches.get(state.latest)?.line ?? (await openBranchLine(project, ref, place));
  await refreshBranchLine(project, line, turn);
  const isThere = last === undefined || line.known.has(last);
  return (isThere ? null : await findRecordElsewhere(project, line, last)) ?? { line, turn };
}

/** Returns the number of records in a note on that line; 0 when the line does not have the note. */
export async function countNoted(one: Follower, id: string): Promise<number> {
  const { line } = (await findPlace(one)) ?? {};
  const turn = line?.known.get(id);
  if (line === undefined || turn === undefined) return 0;
  const { store } = one.project.repository;
  const records = await readRecords(store, await readLineTurns(store, line.tip), turn);
  const note = records.find((record) => record.type === 'note' && record.id === id);
  return note?.type === 'note' ? (note.records?.length ?? 0) : 0;
}

/** Returns true if one of the latest lines contains this text, or the latest answer is this text. */
export function hasLine({ project, state, recent }: Follower, text: string): boolean {
  if (state.texts.assistant === project.hash(text.trim())) return true;
  return recent.some((line) => holdsText(parseJson(line), text.trim()));
}

/** Counts everything read that is not part of the conversation, including records from a pause, by kind, in the plural. */
export function countLeftOut({ reader, state }: Follower): ImportReport['leftOut'] {
  const { leftOut, skipped } = reader.report();
  const more = [
    { what: 'lines that could not be read', count: skipped.count },
    { what: 'records from a pause', count: state.paused },
  ];
  return [...leftOut, ...more.filter(({ count }) => count > 0)];
}

/** Returns the content for comparing copies of a unit; a copy has its own IDs, times and call IDs. */
function toContent({ kind, plan, records }: AgentUnit): string {
  const contents = records.map((record) => ({ ...record, id: '', timestamp: '', tool_call_id: '' }));
  return JSON.stringify([kind, plan, contents]);
}

/** Ignores whitespace around the text, which a hook may omit. */
function holdsText(value: unknown, text: string, depth = 0): boolean {
  if (typeof value === 'string') return value.trim() === text;
  if (typeof value !== 'object' || value === null || depth > 32) return false;
  return Object.values(value).some((inner) => holdsText(inner, text, depth + 1));
}

/** Returns the name of a log's file, which serves as the ID of a session without one. */
export function nameOf(path: string): string {
  return (path.split('/').at(-1) ?? path).replace(/\.jsonl?$/, '').replace(/\s/g, '-');
}
