/**
 * Appends to a line words that people or models said elsewhere: in a voice front end, an editor or the shell. Does not
 * ask a model.
 */
import type { ImportUnit } from '../../conversation/logs/importer.ts';
import { completeRecords, type GivenRecord } from '../../conversation/records/given-record.ts';
import { encodeRecord } from '../../conversation/records/transcript.ts';
import type { KnownRecord, ToolResultRecord, ToolUseRecord } from '../../conversation/records/record.ts';
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import {
  isTurnName,
  compareTurns,
  joinPath,
  sessionDir,
  shortRef,
  turnDir,
  type Oid,
  type SessionId,
  type TurnName,
} from '../../names.ts';
import { append } from './append.ts';
import { maskRecords } from './mask-record.ts';
import { prepareLine } from './prepare.ts';
import { nextTurn, toText, type LineState } from '../../view/view.ts';
import { describeRecords } from './describe-records.ts';
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';

export interface AppendRequest {
  selector?: string | undefined;
  /** One unit. */
  records: GivenRecord[];
  /** True when the record IDs are new, so that nobody can have sent these records before. */
  isFresh?: boolean;
}

export interface AppendedRecords {
  session: SessionId;
  /** `teddy/20260124-add-login`. */
  line: string;
  turn: TurnName;
  commit: Oid;
  entry: UnitKind;
  /**
   * False when the line already contained all the records with the same content; `commit` is then the commit that added
   * them.
   */
  isNew: boolean;
}

/**
 * Appends one unit of records. A message opens the next turn unless a turn waits for an answer or a plan waits to be
 * executed; anything else goes to the latest turn. Masks secrets. Throws BAD_RECORD, ENTRY_EXISTS when an ID already
 * exists with other content, UNKNOWN_SESSION.
 */
export async function appendRecords(project: Project, request: AppendRequest): Promise<AppendedRecords> {
  const given = completeRecords(request.records, project.clock.now().toISOString(), project.hash);
  const kind = toUnitKind(given);
  const line = await prepareLine(project, request.selector);
  const isPartial = given.some(({ type }) => type === 'assistant_partial');
  const trailers = isPartial ? { status: 'PARTIAL' } : {};
  const appended = await append(project, line, async (state) => {
    // Somebody may have sent these records already, perhaps at this very moment.
    const known = request.isFresh === true ? null : await findKnown(project, state, given);
    if (known !== null) return { leave: known };
    const turn = toTurn(state, kind);
    return { drafts: [{ kind, turn, label: describeRecords, trailers, records: given }], value: { turn } };
  });
  const isNew = appended.commit !== null;
  const { turn, commit } = isNew ? { ...appended.value, commit: appended.commit } : appended.value;
  return { session: line.session, line: shortRef(line.ref), turn, commit, entry: kind, isNew };
}

/**
 * Returns null when the line contains none of the IDs. Throws ENTRY_EXISTS when it contains only some of them, or any
 * with other content.
 */
async function findKnown(project: Project, state: LineState, given: KnownRecord[]): Promise<FoundRecord | null> {
  const found = await findRecords(project.repository.store, state, new Set(given.map(({ id }) => id)));
  if (found.length === 0) return null;
  const { records } = await maskRecords(project.masker, { records: given });
  const same = records.filter((record) => found.some((one) => isSameRecord(one.record, record)));
  const [first] = found;
  if (same.length === records.length && first !== undefined) return first;
  const other = records.find((record) => !same.includes(record));
  throw new TeddyError(
    'ENTRY_EXISTS',
    `The record ${JSON.stringify(other?.id ?? '')} differs from the one that ${state.session} has.`,
    'Records are never rewritten. Send yours under a new id.',
  );
}

/** Compares records without their time, because a client that resends a record may have set a new one. */
function isSameRecord(one: KnownRecord, other: KnownRecord): boolean {
  return encodeRecord({ ...one, timestamp: '' }) === encodeRecord({ ...other, timestamp: '' });
}

function toTurn(state: LineState, kind: UnitKind): TurnName {
  const { latest } = state;
  if (latest === null) return nextTurn(state);
  return kind === 'message' && latest.status === 'closed' ? nextTurn(state) : latest.turn;
}

/** A session's record, found by its ID; teddy recognizes resent records this way. */
export interface FoundRecord {
  record: KnownRecord;
  turn: TurnName;
  /** The entry that added it. */
  commit: Oid;
}

/** Returns the records with these IDs in the line's order. Looks up their commits only when it finds any. */
export async function findRecords(store: Store, state: LineState, ids: ReadonlySet<string>): Promise<FoundRecord[]> {
  const found: Omit<FoundRecord, 'commit'>[] = [];
  const written = [...ids].map((id) => JSON.stringify(id));
  for await (const files of store.readFilesBelow(state.entryOid, sessionDir(state.session), isTranscript)) {
    for (const { path, bytes } of files) {
      const text = toText(bytes);
      // Most turns contain none of the IDs, so their records need not be decoded.
      if (written.some((id) => text.includes(id))) found.push(...pick(path.split('/')[0] as TurnName, text, ids));
    }
  }
  const inOrder = found.toSorted((a, b) => compareTurns(a.turn, b.turn));
  return Promise.all(inOrder.map(async (one) => ({ ...one, commit: await findCommit(store, state, one) })));
}

function isTranscript(path: string): boolean {
  const [turn = '', name, ...rest] = path.split('/');
  return isTurnName(turn) && name === 'transcript.jsonl' && rest.length === 0;
}

function pick(turn: TurnName, text: string, ids: ReadonlySet<string>): Omit<FoundRecord, 'commit'>[] {
  return decodeTranscript(text).records.flatMap((record) =>
    record.type !== 'other' && ids.has(record.id) ? [{ record, turn }] : [],
  );
}

/** Returns the oldest of the turn's entries whose transcript contains the record. */
async function findCommit(
  store: Store,
  state: LineState,
  { turn, record: { id } }: Omit<FoundRecord, 'commit'>,
): Promise<Oid> {
  let last = state.entryOid;
  for await (const { oid, commit } of store.firstParents(state.entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry === null || entry.session !== state.session) continue;
    if (entry.kind === 'start') break;
    if (entry.turn !== turn) continue;
    const path = joinPath(turnDir(state.session, turn), 'transcript.jsonl');
    const text = toText((await store.readFile(oid, path))?.bytes ?? null);
    if (pick(turn, text, new Set([id])).length === 0) break;
    last = oid;
  }
  return last;
}

/** teddy stores a unit completely or not at all: a message, calls with all their results, or an answer. */
type UnitKind = Exclude<ImportUnit['kind'], 'plan'>;

/**
 * Returns the entry kind for the records. Throws BAD_RECORD when they do not form a unit: several records that are not
 * an exchange, a call without its result, a result without its call, or two results for one call.
 */
function toUnitKind(records: readonly KnownRecord[]): UnitKind {
  const [first] = records;
  if (first === undefined) throw new TeddyError('BAD_RECORD', 'The request has no record.', 'Send at least one.');
  requireIds(records);
  if (records.some(isOfExchange)) return requireExchange(records);
  if (records.length > 1) {
    throw new TeddyError(
      'BAD_RECORD',
      'Only calls from one answer, and their results, can be stored together.',
      'Send these records one by one.',
    );
  }
  return first.type === 'user' ? 'message' : 'reply';
}

/** A client may resend records; teddy recognizes them by their IDs. */
function requireIds(records: readonly KnownRecord[]): void {
  const bad = records.find(({ id }) => !/^[\x21-\x7e]{1,200}$/.test(id));
  if (bad !== undefined) {
    throw new TeddyError(
      'BAD_RECORD',
      `${JSON.stringify(bad.id.slice(0, 60))} is not a record id.`,
      'An id is 1 to 200 visible ASCII characters, e.g. a UUID.',
    );
  }
  const ids = records.map(({ id }) => id);
  if (new Set(ids).size !== ids.length)
    throw new TeddyError('BAD_RECORD', 'Two records have the same id.', 'Give each record its own id.');
}

function isOfExchange({ type }: KnownRecord): boolean {
  return type === 'tool_use' || type === 'tool_result';
}

function requireExchange(records: readonly KnownRecord[]): 'exchange' {
  const calls = records.filter((record): record is ToolUseRecord => record.type === 'tool_use');
  const results = records.filter((record): record is ToolResultRecord => record.type === 'tool_result');
  const said = records.filter((record) => !isOfExchange(record));
  if (said.length > 1 || (said[0] && (said[0].type !== 'assistant' || records[0] !== said[0])))
    throw toNoExchange('Calls and results may be preceded by one text of the assistant, and by nothing else.');
  const ids = calls.map((call) => call.tool_call_id);
  const answered = results.map((result) => result.tool_call_id);
  if (new Set(ids).size !== ids.length) throw toNoExchange('Two calls have the same tool_call_id.');
  if (new Set(answered).size !== answered.length) throw toNoExchange('Two results belong to the same call.');
  const open = ids.filter((id) => !answered.includes(id));
  if (open.length > 0) throw toNoExchange(`The call ${JSON.stringify(open[0])} has no result.`);
  const orphans = answered.filter((id) => !ids.includes(id));
  if (orphans.length > 0) throw toNoExchange(`The result of ${JSON.stringify(orphans[0])} has no call.`);
  return 'exchange';
}

function toNoExchange(reason: string): TeddyError {
  return new TeddyError('BAD_RECORD', reason, 'Calls are stored with all their results: send them in one list.');
}
