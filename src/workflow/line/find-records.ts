/** Finds records of a session by their ids: what was sent again is known by them. */
import { decodeTranscript } from '../../conversation/decode-transcript.ts';
import type { KnownRecord } from '../../conversation/record.ts';
import type { Store } from '../../ports/git.ts';
import { decodeEntry } from '../../session/entry.ts';
import { compareTurns, isTurnName, joinPath, sessionDir, turnDir, type Oid, type TurnName } from '../../names.ts';
import { toText, type LineState } from './read.ts';

export interface FoundRecord {
  record: KnownRecord;
  turn: TurnName;
  /** The entry that brought it. */
  commit: Oid;
}

/** In the order of the line; the commits are looked for only where there is one. */
export async function findRecords(store: Store, state: LineState, ids: ReadonlySet<string>): Promise<FoundRecord[]> {
  const found: Omit<FoundRecord, 'commit'>[] = [];
  const written = [...ids].map((id) => JSON.stringify(id));
  for await (const files of store.readFilesBelow(state.entryOid, sessionDir(state.session), isTranscript)) {
    for (const { path, bytes } of files) {
      const text = toText(bytes);
      // Most turns hold none of them, and need not be decoded.
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

/** The oldest entry of the turn whose transcript has it. */
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
