/**
 * Reads a turn's files to show them. A long file is held only as far as anybody reads, with the command that prints all of it.
 */
import { openTranscriptDecoder } from '../../conversation/decode-transcript.ts';
import type { TurnFiles } from '../../conversation/resolve-files.ts';
import type { Transcript } from '../../conversation/transcript.ts';
import { maxPlanBytes } from '../../plan/parse.ts';
import type { Store, TreeEntry } from '../../ports/git.ts';
import type { LineLimits } from '../../session/clip-line.ts';
import { toCutMark } from '../../session/cut-text.ts';
import { joinPath, turnDir, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { openLineReader } from '../../session/read-lines.ts';

/** A file that is not shown whole. */
export interface CutFile {
  /** Its name in the turn: `transcript.jsonl`. */
  file: string;
  /** How many characters are left out. */
  characters: number;
  /** Prints all of it. */
  command: string;
}

export interface TurnTexts extends TurnFiles {
  transcript: Transcript;
  cut: CutFile[];
}

export interface TurnSource {
  /** Whose tree has the turn. */
  commit: Oid;
  session: SessionId;
  turn: TurnName;
  /** The turn's directory. */
  entries: readonly TreeEntry[];
}

/** Characters; nobody reads more of one text. */
export const maxShownText = 262_144;
const reportLimits: LineLimits = { text: 65_536, line: 262_144 };

interface Reading<Value> {
  push(piece: string): void;
  end(): { value: Value; cut: number };
}

/** `most`: how many characters are held of one text; where it is infinite, nothing is cut. Throws DAMAGED_SESSION. */
export async function readTurnTexts(store: Store, place: TurnSource, most = maxShownText): Promise<TurnTexts> {
  const whole = most === Infinity;
  const read = async <Value>(
    file: string,
    reading: Reading<Value>,
  ): Promise<{ value: Value; cut: CutFile[] } | null> => {
    const found = place.entries.find(({ name, mode }) => name === file && mode !== '40000' && mode !== '160000');
    if (found === undefined) return null;
    const decoder = new TextDecoder();
    await store.passBlob(found.oid, (piece) => reading.push(decoder.decode(piece, { stream: true })));
    reading.push(decoder.decode());
    const { value, cut } = reading.end();
    return { value, cut: cut === 0 ? [] : [{ file, characters: cut, command: toShowCommand(place, file) }] };
  };
  const [transcript, plan, report] = await Promise.all([
    read('transcript.jsonl', openTranscriptDecoder({ text: most, line: 4 * most })),
    // A longer file is no plan, and is still found to be too long.
    read('plan.md', openBeginning(whole ? Infinity : maxPlanBytes)),
    read('report.md', whole ? openBeginning(Infinity) : openReport()),
  ]);
  return {
    transcript: transcript?.value ?? { records: [], skipped: [], mended: [] },
    plan: plan?.value ?? null,
    report: report?.value ?? null,
    cut: [transcript, plan, report].flatMap((found) => found?.cut ?? []),
  };
}

/** Prints the file whole. */
export function toShowCommand({ commit, session, turn }: Omit<TurnSource, 'entries'>, file: string): string {
  return `git show ${commit.slice(0, 10)}:${joinPath(turnDir(session, turn), file)}`;
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

/** Long lines of what a command printed are cut, in the form that the report has them in. */
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
