/** Follows one log: reads what is new since the last time, appends it to the lines, and notes how far it came. */
import type { AgentLine, AgentLogReader, AgentStep, AgentUnit } from '../../conversation/logs/agent-log.ts';
import type { ImportReport } from '../../conversation/logs/importer.ts';
import { fieldsOf, parseJson } from '../../conversation/records/import-values.ts';
import { loadAgentLog } from '../../agents/open-log.ts';
import type { Capture, LogPosition } from '../../ports/agent-logs.ts';
import type { Project } from '../../ports/project.ts';
import type { RefName, TurnName } from '../../names.ts';
import {
  listFollowedLogs,
  newBranch,
  newFollowedLog,
  toFollowedLog,
  type FollowedLog,
  type LastTexts,
  leftOutKey,
} from './capture.ts';
import { readLineTurns, readRecords } from '../../view/view.ts';
import { isOthers } from './work-tree-of.ts';
import {
  findCapturedLine,
  findRecordElsewhere,
  isOfSession,
  openBranchLine,
  openFork,
  startLine,
  type ForeignSession,
  type OpenedFork,
} from './open-line.ts';
import {
  findFresh,
  isLeft,
  refreshBranchLine,
  writeUnits,
  type BranchLine,
  type FreshUnit,
  type TurnPosition,
} from './write-units.ts';

interface Advance {
  entries: number;
  records: number;
  /** Something was read, whether or not it made an entry. */
  hasRead: boolean;
}

export interface Follower {
  /** The log's state; its `session` is null while there is nothing to keep. */
  log(): FollowedLog;
  /** Takes in what has come. Nothing is there twice, whatever happened before. */
  advance(): Promise<Advance>;
  /** The same, and whatever is open counts as whole: the agent said that its turn is over, or has been quiet. */
  settle(): Promise<Advance>;
  waitsForResult(): boolean;
  /** Counts what was read and is no part of the conversation, by kind, in the plural: also records from a pause. */
  leftOut(): ImportReport['leftOut'];
  /** Appends units that are not in the log to the line that was written last; how many entries they made. */
  add(units: AgentUnit[]): Promise<number>;
  /** The line that was read last, and the turn that is open on it; null: nothing was written yet, or the line is gone. */
  place(): Promise<{ line: BranchLine; turn: TurnName | null } | null>;
  /** How many records of its own a note has that is on that line; 0: it is not there. */
  noted(id: string): Promise<number>;
  /** Whether one of the last lines holds this text, be it on the line already or not, or it is the answer that was read last. */
  hasLine(text: string): boolean;
  /** The hashes of the last message and the last text of an answer that were read, without the white space around them. */
  lastTexts(): LastTexts;
}

/** The lines of which a hook may tell. */
const recentLimits = { lines: 16, characters: 256 * 1024 };

/** So many steps are held before they are written. */
const maxSteps = 512;

export interface FollowOptions {
  /** The session's id, for a log that does not have it. */
  id?: string;
  /** The agent's process. */
  pid?: number;
  /** Where the session began, for a log that does not say so. */
  cwd: string | null;
  /** Whether the session belongs to this repository, by the directory in which it began; asked before its line is made. */
  isOurs(cwd: string | null): Promise<boolean>;
  /** Records from a pause are left out; `time` in ISO 8601. */
  isLeftOut(time: unknown): boolean;
  /** Called before a message is written, with the line as it stands. */
  beforeMessage?(line: BranchLine): Promise<void>;
}

/** A branch of the conversation as it is written to. */
interface OpenBranch {
  line: BranchLine;
  /** The turn of a branch that was made for what comes now, and what that turn repeats. */
  opens: TurnName | null;
  before: AgentUnit | null;
}

interface Copied {
  line: BranchLine;
  after: string | null;
  count: number;
}

const plain = (line: BranchLine): OpenBranch => ({ line, opens: null, before: null });
const forked = ({ line, turn, repeats }: OpenedFork): OpenBranch => ({ line, opens: turn, before: repeats });
const startOfLine: TurnPosition = { turn: null, length: 0, written: 0 };

export async function openFollower(
  project: Project,
  capture: Capture,
  { agent, path }: Pick<FollowedLog, 'agent' | 'path'>,
  { id: givenId, pid, cwd, isOurs, isLeftOut, beforeMessage }: FollowOptions,
): Promise<Follower> {
  const now = () => project.clock.now().toISOString();
  const openLog = await loadAgentLog(agent);
  const known = toFollowedLog(await capture.states.read(path));
  let log: FollowedLog = known ?? newFollowedLog(agent, path, now());
  let reader = openReader(log);
  let paused = 0;
  let position: LogPosition | null = log.position;
  /** Where the branches stand by now; the log has them as of its checkpoint. */
  let places = log.branches.map(({ at }) => at);
  let raw: AgentLine[] = [];
  let unknownBefore = log.unknownBefore ?? log.unknown;
  const texts: LastTexts = { ...(log.lastTexts ?? { user: null, assistant: null }) };
  let isSettled = false;
  let isElsewhere = false;
  let isLineGone = false;
  let rawWritten = 0;
  let latest = log.latest ?? 0;
  let realCwd: string | null = null;
  const recent: string[] = [];
  const lines = new Map<number, OpenBranch>();
  /** Whether it is known which units the log repeats of another one, the place after those, and how many steps wait until then. */
  let isOwn = log.checkpoint !== null;
  let copied: Copied | null = null;
  let heldSteps = maxSteps;

  function openReader({ checkpoint }: FollowedLog): AgentLogReader {
    const options = { hash: project.hash, importedAt: now() };
    return openLog(checkpoint === null ? options : { ...options, checkpoint });
  }

  /** Reads the log from its beginning: what is on the lines already is known by its ids. */
  const restart = (): void => {
    const branches = log.branches.map((one) => ({ ...one, at: startOfLine }));
    log = { ...log, position: null, checkpoint: null, branches };
    [reader, position, raw, rawWritten, unknownBefore] = [openReader(log), null, [], 0, 0];
    pending.splice(0);
    places = log.branches.map(() => startOfLine);
    lines.clear();
    isOwn = false;
  };

  const read = async (): Promise<Advance> => {
    const sum: Advance = { entries: 0, records: 0, hasRead: false };
    const stat = await capture.logs.stat(agent, path);
    if (log.stopped === 'elsewhere') return sum;
    if (stat === null) {
      if (log.stopped !== 'vanished') await save({ stopped: 'vanished' });
      return sum;
    }
    let reading = await capture.logs.read(path, position);
    if (reading === null && position !== null) {
      restart();
      reading = await capture.logs.read(path, null);
    }
    if (reading === null) return sum;
    for await (const line of reading.lines) {
      sum.hasRead = true;
      if (line.text !== null && line.text.length <= recentLimits.characters) recent.push(line.text);
      if (recent.length > recentLimits.lines) recent.shift();
      isSettled = false;
      reader.line(line);
      if (reader.needsStart()) {
        restart();
        return read();
      }
      const steps = pending.push(...reader.take());
      if (steps >= heldSteps) await write(sum, reading.position());
    }
    await write(sum, reading.position());
    const stopped = isElsewhere ? ('elsewhere' as const) : isLineGone ? ('line-gone' as const) : null;
    await save({ seen: { size: stat.size, mtimeMs: stat.mtimeMs }, stopped });
    return sum;
  };

  const pending: AgentStep[] = [];

  const isWanted = async (): Promise<boolean> => {
    const leftOut = await capture.states.read(leftOutKey(agent, toForeign().id));
    return leftOut === null && (await isOurs(reader.head().cwd ?? cwd));
  };

  const write = async (sum: Advance, readTo: LogPosition | null): Promise<void> => {
    const begun = reader.head().cwd ?? log.cwd ?? cwd;
    realCwd = begun === null ? null : await capture.logs.realPath(begun);
    raw.push(...reader.unknown().slice(raw.length));
    if (pending.length > 0 && log.session === null && !(await isWanted())) {
      isElsewhere = true;
      pending.splice(0);
    }
    if (!isOwn && pending.length > 0 && !(await dropCopied())) {
      [position, heldSteps] = [readTo, maxSteps + 2 * pending.length];
      return;
    }
    while (pending.length > 0) {
      const [step] = pending;
      if (step === undefined) break;
      if ('fork' in step) {
        log.branches[step.fork.branch] ??= newBranch({ branch: step.fork.leaves, after: step.fork.after });
        places[step.fork.branch] ??= startOfLine;
        pending.shift();
        continue;
      }
      const { branch } = step.unit;
      const units: AgentUnit[] = [];
      for (const one of pending) {
        if (!('unit' in one) || one.unit.branch !== branch) break;
        units.push(one.unit);
      }
      const kept = units.filter(({ records }) => !isLeftOut(records[0]?.timestamp));
      const written = await writeBranch(branch, kept);
      if (written === null) break;
      paused += countRecords(units) - countRecords(kept);
      pending.splice(0, units.length);
      sum.entries += written.entries;
      sum.records += written.records;
      log = { ...log, entries: log.entries + written.entries, records: log.records + written.records };
      for (const { model } of units) if (model !== undefined) log = { ...log, model };
      noteTexts(units);
    }
    position = readTo;
    // Lines that nobody understands wait for the next entry: until then, they are read again.
    const checkpoint = pending.length > 0 || rawWritten < raw.length ? null : reader.checkpoint();
    if (checkpoint === null) return;
    log.branches.forEach((one, at) => (one.at = places[at] ?? one.at));
    log = { ...log, checkpoint, position, unknownBefore: unknownBefore + reader.unknown().length };
  };

  /** Drops the units that another log has as well; false: there is nothing else yet. */
  const dropCopied = async (): Promise<boolean> => {
    const units = pending.flatMap((step) => ('unit' in step ? [step.unit] : []));
    const own = units.findIndex(({ records }) => records.some(({ id }) => id === log.firstOwn));
    const isNew = (log.branches[0]?.ref ?? null) === null || log.firstOwn !== undefined;
    if (own === -1 && isNew) copied = await findCopied(units);
    const count = own === -1 ? (copied?.count ?? 0) : own;
    const first = units[count]?.records[0];
    if (first === undefined) return false;
    pending.splice(0, count);
    if (count > 0) log = { ...log, firstOwn: first.id };
    return (isOwn = true);
  };

  /** The place on the line of a log of the same origin after which this one goes on, and how many of its units come before. */
  const findCopied = async (units: readonly AgentUnit[]): Promise<Copied | null> => {
    const { id } = toForeign();
    const others = await listOthers();
    const family = new Set([id, ...reader.head().copiedFrom]);
    const isRelated = (other: FollowedLog) => [other.id, ...(other.copiedFrom ?? [])].some((one) => family.has(one));
    for (let size = 0; size < family.size;) {
      size = family.size;
      for (const other of others.filter(isRelated))
        for (const one of [other.id, ...(other.copiedFrom ?? [])]) family.add(one);
    }
    const contents = units.map(toContent);
    let [found, place]: [Copied | null, number] = [null, -1];
    for (const { ref, ...other } of others.filter((one) => one.id !== id && isRelated(one))) {
      const theirs = await readUnits(other, null);
      const differs = contents.findIndex(
        (content, at) => theirs[at] === undefined || content !== toContent(theirs[at]),
      );
      const count = differs === -1 ? contents.length : differs;
      const line = await openBranchLine(project, ref, startOfLine);
      const isThere = ({ records }: AgentUnit) => line.known.has(records.at(-1)?.id ?? '');
      const last = theirs.slice(0, count).findLastIndex(isThere);
      if (last > place) [found, place] = [{ line, after: theirs[last]?.records.at(-1)?.id ?? null, count }, last];
    }
    return found;
  };

  const noteTexts = (units: readonly AgentUnit[]): void => {
    for (const record of units.flatMap(({ records }) => records))
      if ((record.type === 'assistant' || record.type === 'user') && 'content' in record.message)
        texts[record.type] = project.hash(record.message.content.trim());
  };

  const placeOf = (branch: number): TurnPosition => places[branch] ?? startOfLine;

  const writeBranch = async (branch: number, units: AgentUnit[]) => {
    const [first] = units;
    if (first === undefined) return { entries: 0, records: 0 };
    for (;;) {
      const open = await openBranch(branch, first);
      if (open === null) return null;
      const { line, opens, before } = open;
      await refreshBranchLine(project, line, placeOf(branch).turn);
      line.isTaken ||= await isOthers(project, line, toForeign().cwd ?? '/');
      const fresh = findFresh(line, placeOf(branch), units);
      if (fresh !== null && (await moveBranch(branch, line, fresh))) continue;
      if (!lines.has(branch)) return null;
      if (first.kind === 'message') await beforeMessage?.(line);
      const written = await writeUnits(project, line, placeOf(branch), {
        units: before === null ? units : [before, ...units],
        raw: raw
          .slice(rawWritten)
          .filter(({ text }) => text !== null && !isLeftOut(fieldsOf(parseJson(text))['timestamp'])),
        ...(opens === null ? {} : { opens }),
      });
      if (written.isLeft) continue;
      Object.assign(open, { opens: null, before: null });
      if (written.entries > 0) rawWritten = raw.length;
      places[branch] = written.position;
      latest = branch;
      return written;
    }
  };

  /** Goes on where the agent's conversation does by now; false: that is here. */
  const moveBranch = async (branch: number, line: BranchLine, { id, unit, after }: FreshUnit): Promise<boolean> => {
    if (after === undefined) return false;
    const { last, ...place } = placeOf(branch);
    const isHere = line.known.has(after);
    // Where the log is read from its beginning, another branch may have what comes next.
    const sought = last === undefined ? id : isHere ? null : after;
    const elsewhere = sought === null ? null : await findRecordElsewhere(project, line, sought);
    if (elsewhere !== null) goOn(branch, plain(elsewhere.line), { ...startOfLine, turn: elsewhere.turn, last: after });
    else if (isHere && isLeft(line, { id, unit, after })) {
      const left = await openBranchLine(project, line.ref, startOfLine);
      goOn(branch, forked(await openFork(project, { left, after, first: unit, foreign: toForeign() })), startOfLine);
    } else if (isHere || (await isOfSession(project, line.tip, toForeign()))) {
      // Where not even that record is on any branch, the user has moved the line back.
      places[branch] = isHere ? { ...place, last: after } : place;
      return !isHere;
    } else {
      isLineGone = true;
      lines.delete(branch);
      return false;
    }
    return true;
  };

  const openBranch = async (branch: number, first: AgentUnit): Promise<OpenBranch | null> => {
    const open = lines.get(branch);
    if (open !== undefined) return open;
    const found = await findBranch(branch, first);
    if (found === null) return null;
    goOn(branch, found, placeOf(branch));
    const firstRecord = log.firstRecord ?? first.records[0]?.id ?? null;
    log = { ...log, firstRecord, session: log.session ?? found.line.session };
    return found;
  };

  const goOn = (branch: number, open: OpenBranch, place: TurnPosition): void => {
    lines.set(branch, open);
    places[branch] = place;
    log.branches[branch] = { ...(log.branches[branch] ?? newBranch(null)), ref: open.line.ref };
  };

  const findBranch = async (branch: number, first: AgentUnit) => {
    const followed = log.branches[branch];
    if (followed?.ref) {
      // The user has deleted or archived it: what comes is taken when it is there again.
      isLineGone = (await project.repository.store.resolve(followed.ref)) === null;
      return isLineGone ? null : plain(await openBranchLine(project, followed.ref, placeOf(branch)));
    }
    const foreign = toForeign();
    if (followed?.leaves) {
      const left = await openBranch(followed.leaves.branch, first);
      if (left === null) return null;
      const whole = await openBranchLine(project, left.line.ref, startOfLine);
      return forked(await openFork(project, { left: whole, after: followed.leaves.after, first, foreign }));
    }
    const there = await findCapturedLine(project, foreign);
    if (there !== null) return plain(await openBranchLine(project, there, startOfLine));
    const base = await findForkedFrom(first);
    if (base !== null) {
      if (base.first === null) return null;
      return forked(await openFork(project, { left: base.line, after: base.after, first: base.first, foreign }));
    }
    const message = pending.find((step) => 'unit' in step && step.unit.kind === 'message');
    return plain(await startLine(project, foreign, message !== undefined && 'unit' in message ? message.unit : first));
  };

  const toForeign = (): ForeignSession => {
    const head = reader.head();
    // A trailer holds it: it is one word, whatever the log or the hook says.
    const id = (head.id ?? (log.id || givenId || nameOf(path))).replaceAll(/\s+/g, '-').slice(0, 200);
    return { agent, id, cwd: realCwd ?? log.cwd ?? cwd, startedAt: head.startedAt ?? log.startedAt ?? now() };
  };

  /** Another session of the same agent whose records this one begins with, or that it names as its origin. */
  const findForkedFrom = async (first: AgentUnit) => {
    if (copied !== null) return { ...copied, first };
    const { forkedFrom } = reader.head();
    const firstId = first.records[0]?.id ?? '';
    for (const { ref, ...other } of await listOthers()) {
      const isOrigin = forkedFrom === null ? other.firstRecord === firstId : other.id === forkedFrom.id;
      if (!isOrigin) continue;
      const line = await openBranchLine(project, ref, startOfLine);
      if (forkedFrom !== null) {
        const last = (await readUnits(other, forkedFrom.endOffset)).at(-1)?.records.at(-1);
        return { line, after: last?.id ?? null, first };
      }
      // A fork repeats the records of its origin under their own ids. That may be older than a teddy that reads plans.
      const units = pending.flatMap((step) => ('unit' in step && step.unit.kind !== 'plan' ? [step.unit] : []));
      const fresh = findFresh(line, startOfLine, units);
      const after = fresh === null ? units.at(-1)?.records.at(-1)?.id : fresh.after;
      if (after !== undefined) return { line, after, first: fresh?.unit ?? null };
    }
    return null;
  };

  /** The other logs of the agent whose lines are there. */
  const listOthers = async () => {
    const others: (FollowedLog & { ref: RefName })[] = [];
    for (const other of await listFollowedLogs(capture)) {
      const ref = other.branches[0]?.ref ?? null;
      if (other.agent !== agent || other.path === path || ref === null) continue;
      if ((await project.repository.store.resolve(ref)) !== null) others.push({ ...other, ref });
    }
    return others;
  };

  /** The units of the line on which a log begins, up to a place in its bytes. */
  const readUnits = async (other: FollowedLog, endOffset: number | null): Promise<AgentUnit[]> => {
    const reading = await capture.logs.read(other.path, null);
    if (reading === null) return [];
    const earlier = openLog({ hash: project.hash, importedAt: now() });
    for await (const line of reading.lines) {
      if (endOffset !== null && reading.position().offset > endOffset) break;
      earlier.line(line);
    }
    earlier.settle();
    return earlier.take().flatMap((step) => ('unit' in step && step.unit.branch === 0 ? [step.unit] : []));
  };

  const save = async (change: Partial<FollowedLog>): Promise<void> => {
    const head = reader.head();
    const unknown = unknownBefore + reader.unknown().length;
    log = {
      ...log,
      ...change,
      id: toForeign().id,
      cwd: head.cwd ?? log.cwd ?? cwd,
      agentVersion: head.version ?? log.agentVersion,
      startedAt: head.startedAt ?? log.startedAt,
      copiedFrom: head.copiedFrom,
      unknown,
      pid: pid ?? log.pid,
      latest,
      lastTexts: { ...texts },
      isWhole: pending.length === 0 && reader.checkpoint() !== null,
      updatedAt: now(),
    };
    await capture.states.write(path, { ...log });
  };

  const settle = async (): Promise<Advance> => {
    const sum = await read();
    if (isSettled) return sum;
    reader.settle();
    isSettled = true;
    pending.push(...reader.take());
    await write(sum, position);
    await save(isLineGone ? { stopped: 'line-gone' } : {});
    return sum;
  };

  const place = async () => {
    const ref = log.branches[latest]?.ref ?? null;
    if (ref === null || (await project.repository.store.resolve(ref)) === null) return null;
    const { turn, last } = placeOf(latest);
    const line = lines.get(latest)?.line ?? (await openBranchLine(project, ref, placeOf(latest)));
    await refreshBranchLine(project, line, turn);
    const isThere = last === undefined || line.known.has(last);
    return (isThere ? null : await findRecordElsewhere(project, line, last)) ?? { line, turn };
  };
  const noted = async (id: string): Promise<number> => {
    const { line } = (await place()) ?? {};
    const turn = line?.known.get(id);
    if (line === undefined || turn === undefined) return 0;
    const { store } = project.repository;
    const records = await readRecords(store, await readLineTurns(store, line.tip), turn);
    const note = records.find((record) => record.type === 'note' && record.id === id);
    return note?.type === 'note' ? (note.records?.length ?? 0) : 0;
  };
  const add = async (units: AgentUnit[]): Promise<number> => {
    const written = await writeBranch(latest, units);
    if (written !== null) noteTexts(units);
    await save({});
    return written?.entries ?? 0;
  };
  return {
    log: () => log,
    add,
    advance: read,
    settle,
    waitsForResult: () => reader.waitsForResult(),
    leftOut() {
      const { leftOut, skipped } = reader.report();
      const more = [
        { what: 'lines that could not be read', count: skipped.count },
        { what: 'records from a pause', count: paused },
      ];
      return [...leftOut, ...more.filter(({ count }) => count > 0)];
    },
    place,
    noted,
    hasLine: (text) =>
      texts.assistant === project.hash(text.trim()) || recent.some((line) => holdsText(parseJson(line), text.trim())),
    lastTexts: () => texts,
  };
}

/** A unit as a copy of its lines gives it: ids, times and the names of calls are the copy's own. */
function toContent({ kind, plan, records }: AgentUnit): string {
  return JSON.stringify([
    kind,
    plan,
    records.map((record) => ({ ...record, id: '', timestamp: '', tool_call_id: '' })),
  ]);
}

function countRecords(units: readonly AgentUnit[]): number {
  return units.reduce((sum, { records }) => sum + records.length, 0);
}

/** A hook may say the text without the white space around it. */
function holdsText(value: unknown, text: string, depth = 0): boolean {
  if (typeof value === 'string') return value.trim() === text;
  if (typeof value !== 'object' || value === null || depth > 32) return false;
  return Object.values(value).some((inner) => holdsText(inner, text, depth + 1));
}

/** The name of a log's file, which stands for the id of a session that has none. */
export function nameOf(path: string): string {
  return (path.split('/').at(-1) ?? path).replace(/\.jsonl?$/, '').replace(/\s/g, '-');
}
