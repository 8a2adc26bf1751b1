/** Finds records of a session by their ids: what was sent again is known by them. */
import { decodeTranscript } from '../conversation/decode-transcript.ts';
import type { KnownRecord } from '../conversation/record.ts';
import type { Store } from '../ports.ts';
import { decodeEntry } from '../session/entry.ts';
import { joinPath, turnDir, type Oid, type TurnName } from '../session/names.ts';
import { toText, type LineState } from './read-line.ts';

export interface FoundRecord {
  record: KnownRecord;
  turn: TurnName;
  /** The entry that brought it. */
  commit: Oid;
}

/** Turns are asked for so many at a time. */
const turnsAtATime = 64;

/** In the order of the line; the commits are looked for only where there is one. */
export async function findRecords(store: Store, state: LineState, ids: ReadonlySet<string>): Promise<FoundRecord[]> {
  const found: Omit<FoundRecord, 'commit'>[] = [];
  for (let at = 0; at < state.turns.length; at += turnsAtATime) {
    const turns = state.turns.slice(at, at + turnsAtATime);
    const read = await Promise.all(turns.map((turn) => findInTurn(store, state, turn, ids)));
    found.push(...read.flat());
  }
  return Promise.all(
    found.map(async (one) => ({ ...one, commit: await findCommit(store, state, one.turn, one.record.id) })),
  );
}

async function findInTurn(
  store: Store,
  state: LineState,
  turn: TurnName,
  ids: ReadonlySet<string>,
): Promise<Omit<FoundRecord, 'commit'>[]> {
  const text = await readTranscript(store, state.entryOid, state, turn);
  // Most turns hold none of them, and need not be decoded.
  if (![...ids].some((id) => text.includes(JSON.stringify(id)))) return [];
  return decodeTranscript(text).records.flatMap((record) =>
    record.type !== 'other' && ids.has(record.id) ? [{ record, turn }] : [],
  );
}

async function readTranscript(store: Store, commit: Oid, { session }: LineState, turn: TurnName): Promise<string> {
  return toText((await store.readFile(commit, joinPath(turnDir(session, turn), 'transcript.jsonl')))?.bytes ?? null);
}

/** The oldest entry of the turn whose transcript has it. */
async function findCommit(store: Store, state: LineState, turn: TurnName, id: string): Promise<Oid> {
  let last = state.entryOid;
  for await (const { oid, commit } of store.firstParents(state.entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry === null || entry.session !== state.session) continue;
    if (entry.kind === 'start') break;
    if (entry.turn !== turn) continue;
    if (!(await readTranscript(store, oid, state, turn)).includes(JSON.stringify(id))) break;
    last = oid;
  }
  return last;
}
