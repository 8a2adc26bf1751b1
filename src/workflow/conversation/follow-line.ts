/** Follows a line: yields the additions of each entry, in order and once, whoever appends the entry. */
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { joinPath, turnDir, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { findLine, lineName, type Line } from '../line/find.ts';
import { readEnd, type LineEnd } from '../line/read-end.ts';
import { findEntry, readTurnFile, toText } from '../../view/view.ts';

/** A reader's position: the reader has received `count` of this commit's events; null when it has received all of them. */
export interface LinePosition {
  commit: Oid;
  count: number | null;
}

export type LineEvent =
  | { kind: 'begin'; position: LinePosition }
  | { kind: 'record'; position: LinePosition; entry: Entry; record: TranscriptRecord }
  /** A commit that adds no record. */
  | { kind: 'entry'; position: LinePosition; entry: Entry }
  /** The position is no longer on the line, because somebody moved the line by force; events continue from this position. */
  | { kind: 'reset'; position: LinePosition }
  /** The line is gone; no events follow. */
  | { kind: 'end'; reason: LineEnd };

export interface FollowRequest {
  selector: string;
  /** Null to start now. */
  after: LinePosition | null;
  /** Resolves when it is time to look again. */
  pause(): Promise<void>;
  signal: AbortSignal;
}

export interface FollowedLine {
  session: SessionId;
  /** The branch's name, such as `teddy/20260124-add-login`. */
  line: string;
  events: AsyncIterable<LineEvent>;
}

/** Throws UNKNOWN_SESSION or AMBIGUOUS_SESSION before the first event; aborting the signal ends the events. */
export async function followLine(project: Project, request: FollowRequest): Promise<FollowedLine> {
  const line = await findLine(project, request.selector);
  return { session: line.session, line: lineName(line), events: follow(project, line, request) };
}

async function* follow(project: Project, line: Line, request: FollowRequest): AsyncGenerator<LineEvent> {
  const { store } = project.repository;
  let position = request.after ?? toWhole(line.tip ?? (line.remoteTip as Oid));
  yield { kind: 'begin', position };
  // When the line exists only on a remote, continuing it creates a local branch.
  for (let isHere = line.tip !== null; !request.signal.aborted; await request.pause()) {
    const tip = await store.resolve(line.ref);
    if (tip === null) {
      if (!isHere) continue;
      return yield { kind: 'end', reason: (await readEnd(project, line.ref, null)) ?? 'deleted' };
    }
    isHere = true;
    if (tip === position.commit && position.count === null) continue;
    yield* readSince(store, line.session, tip, position);
    position = toWhole(tip);
  }
}

function toWhole(commit: Oid): LinePosition {
  return { commit, count: null };
}

async function* readSince(store: Store, session: SessionId, tip: Oid, after: LinePosition): AsyncGenerator<LineEvent> {
  const steps = await walkBack(store, session, tip, after.commit);
  if (steps === null) return yield { kind: 'reset', position: toWhole(tip) };
  for (const step of steps.toReversed()) {
    const seen = step.commit === after.commit ? after.count : 0;
    if (seen !== null) yield* (await readEvents(store, step)).slice(seen);
  }
}

interface Step {
  commit: Oid;
  parent: Oid | null;
  entry: Entry | null;
}

/** Lists the commits from the tip to `until`, inclusive; returns null when `until` is not on the line. */
async function walkBack(store: Store, session: SessionId, tip: Oid, until: Oid): Promise<Step[] | null> {
  const steps: Step[] = [];
  for await (const { oid, commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    steps.push({ commit: oid, parent: commit.parents[0] ?? null, entry });
    if (oid === until) return steps;
    if (entry?.kind === 'start' && entry.session === session) return null;
  }
  return null;
}

/** Always returns the same events for a commit, because positions count them. */
async function readEvents(store: Store, { commit, parent, entry }: Step): Promise<LineEvent[]> {
  if (entry === null) return [];
  const { turn } = entry;
  const records = turn === null || parent === null ? [] : await readGained(store, commit, parent, entry, turn);
  if (records.length === 0) return [{ kind: 'entry', position: { commit, count: 1 }, entry }];
  return records.map((record, at) => ({ kind: 'record', position: { commit, count: at + 1 }, entry, record }));
}

/** Reads the records added to the turn's transcript since the previous entry. */
async function readGained(
  store: Store,
  commit: Oid,
  parent: Oid,
  { session }: Entry,
  turn: TurnName,
): Promise<TranscriptRecord[]> {
  const path = joinPath(turnDir(session, turn), 'transcript.jsonl');
  // A user's commit may have deleted the file; in that case this entry restores it, and its earlier records are not
  // new.
  const before = await findEntry(store, parent);
  const [was, now] = await Promise.all([before.oid, commit].map((oid) => store.readFile(oid, path)));
  if (!now || now.oid === was?.oid) return [];
  const { records } = decodeTranscript(takeNewLines(toText(was?.bytes ?? null), toText(now.bytes)));
  return Promise.all(records.map((record) => withContent(store, commit, session, turn, record)));
}

/**
 * Returns the appended lines. A transcript is rewritten only by a person with other tools; in that case everything from
 * the first different line on is new.
 */
function takeNewLines(was: string, now: string): string {
  if (now.startsWith(was)) return now.slice(was.length);
  const old = was.split('\n');
  const lines = now.split('\n');
  const same = lines.findIndex((line, at) => line !== old[at]);
  return same === -1 ? '' : lines.slice(same).join('\n');
}

/** Replaces a reference to one of the turn's files with the content, because readers have no other way to get it. */
async function withContent(
  store: Store,
  commit: Oid,
  session: SessionId,
  turn: TurnName,
  record: TranscriptRecord,
): Promise<TranscriptRecord> {
  if (record.type !== 'assistant' && record.type !== 'user') return record;
  const file = 'file' in record.message ? record.message.file : null;
  if (file !== 'plan.md' && file !== 'report.md') return record;
  const content = await readTurnFile(store, { commit, session, turn }, file);
  if (content === null) return record;
  return record.type === 'user'
    ? { ...record, message: { role: 'user', content } }
    : { ...record, message: { role: 'assistant', content } };
}
