/**
 * Reads a turn's files from a commit. Keeps only the requested amount of a long file, with the command that prints all
 * of it.
 */
import { openTranscriptDecoder } from '../conversation/history/decode-transcript.ts';
import type { TurnFiles } from '../conversation/history/resolve-files.ts';
import type { Transcript } from '../conversation/records/transcript.ts';
import { TeddyError } from '../errors.ts';
import { joinPath, turnDir, type Oid, type SessionId, type TurnName } from '../names.ts';
import { maxPlanBytes } from '../plan/parse/parse.ts';
import type { SessionStore, TreeEntry } from '../ports/git.ts';
import { toCutMark } from '../session/text/clip-line.ts';
import { type LineLimits } from '../session/text/clip-line.ts';
import { openLineReader } from '../session/lines/read-lines.ts';

/** A session's turn, in a commit's tree. */
export interface TurnAt {
  commit: Oid;
  session: SessionId;
  turn: TurnName;
}

/** A file that is only shown in part. */
export interface CutFile {
  /** The file's name within the turn: `transcript.jsonl`. */
  file: string;
  /** The number of omitted characters. */
  characters: number;
  /** The command that prints the whole file. */
  command: string;
}

export interface TurnBodies extends TurnFiles {
  transcript: Transcript;
  cut: CutFile[];
}

export interface BodyOptions {
  /** The number of characters to keep of each text; all by default. */
  most?: number | undefined;
  /** The entries of the turn's directory, if the caller already has them. */
  entries?: readonly TreeEntry[] | undefined;
  /** Handles an error in one file, which then counts as missing. Without this callback, the error is thrown. */
  onError?: ((file: string) => (error: unknown) => null) | undefined;
}

/** In characters; users do not read more of a single text. */
export const maxShownText = 262_144;
const reportLimits: LineLimits = { text: 65_536, line: 262_144 };

/** Throws UNKNOWN_TURN, DAMAGED_SESSION. */
export async function readBodies(
  store: Pick<SessionStore, 'readDir' | 'streamBlob'>,
  at: TurnAt,
  { most = Infinity, entries, onError }: BodyOptions = {},
): Promise<TurnBodies> {
  const listed = entries ?? (await listTurn(store, at.commit, at.session, at.turn));
  const read = async <Value>(
    file: string,
    reading: Reading<Value>,
  ): Promise<{ value: Value; cut: CutFile[] } | null> => {
    const found = listed.find(({ name, mode }) => name === file && mode !== '40000' && mode !== '160000');
    if (found === undefined) return null;
    const decoder = new TextDecoder();
    const passed = store.streamBlob(found.oid, (piece) => reading.push(decoder.decode(piece, { stream: true })));
    const ended = passed.then(() => {
      reading.push(decoder.decode());
      const { value, cut } = reading.end();
      return { value, cut: cut === 0 ? [] : [{ file, characters: cut, command: toShowCommand(at, file) }] };
    });
    return onError === undefined ? ended : ended.catch(onError(file));
  };
  const isWhole = most === Infinity;
  const [transcript, plan, report] = await Promise.all([
    read('transcript.jsonl', openTranscriptDecoder({ text: most, line: 4 * most })),
    // A longer file is not a plan, but teddy must still recognize that it is too long.
    read('plan.md', openBeginning(isWhole ? Infinity : maxPlanBytes)),
    read('report.md', isWhole ? openBeginning(Infinity) : openReport()),
  ]);
  return {
    transcript: transcript?.value ?? { records: [], skipped: [], repaired: [] },
    plan: plan?.value ?? null,
    report: report?.value ?? null,
    cut: [transcript, plan, report].flatMap((found) => found?.cut ?? []),
  };
}

/** Lists a turn's directory. Throws UNKNOWN_TURN when the turn is not in the commit. */
export async function listTurn(
  store: Pick<SessionStore, 'readDir'>,
  commit: Oid,
  session: SessionId,
  turn: TurnName,
): Promise<TreeEntry[]> {
  const listed = await store.readDir(commit, turnDir(session, turn));
  if (listed === null) throw unknownTurnError(session, turn);
  return listed.entries;
}

export function unknownTurnError(session: SessionId, turn: string): TeddyError {
  return new TeddyError(
    'UNKNOWN_TURN',
    `${session} has no turn ${turn} on this branch.`,
    `\`teddy log ${session}\` shows the turns.`,
  );
}

/** Reads one of a turn's files unchanged; null when the turn has no such file. */
export async function readTurnFile(
  store: Pick<SessionStore, 'readFile'>,
  { commit, session, turn }: TurnAt,
  name: string,
): Promise<string | null> {
  const found = await store.readFile(commit, joinPath(turnDir(session, turn), name));
  return found && toText(found.bytes);
}

/** Decodes a turn's file; returns an empty text for a missing file. */
export function toText(bytes: Uint8Array | null): string {
  return bytes === null ? '' : new TextDecoder().decode(bytes);
}

/** Returns the command that prints one of a turn's files in full. */
export function toShowCommand({ commit, session, turn }: TurnAt, file: string): string {
  return `git show ${commit.slice(0, 10)}:${joinPath(turnDir(session, turn), file)}`;
}

interface Reading<Value> {
  push(piece: string): void;
  end(): { value: Value; cut: number };
}

function openBeginning(max: number): Reading<string> {
  const kept: string[] = [];
  let length = 0;
  return {
    push(piece) {
      if (length < max) kept.push(piece.slice(0, max - length));
      length += piece.length;
    },
    end() {
      const cut = Math.max(length - max, 0);
      return { value: kept.join('') + (cut === 0 ? '' : toCutMark(cut)), cut };
    },
  };
}

/** Cuts long lines of command output, in the form used by the report. */
function openReport(): Reading<string> {
  const lines: string[] = [];
  let cut = 0;
  const reader = openLineReader(reportLimits, (line) => {
    lines.push(line.text);
    cut += line.cut;
  });
  let last = '';
  return {
    push(piece) {
      reader.push(piece);
      last = piece.at(-1) ?? last;
    },
    end() {
      reader.end();
      return { value: lines.join('\n') + (last === '\n' ? '\n' : ''), cut };
    },
  };
}
