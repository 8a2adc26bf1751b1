/** Reads `transcript.jsonl` back. Never throws, whatever the text contains. */
import { decodeRecord } from '../records/decode-record.ts';
import type { LineLimits } from '../../session/text/clip-line.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { openLineReader, type ReadLine } from '../../session/lines/read-lines.ts';
import { repairLine } from '../records/repair-line.ts';
import type { LineIssue, Transcript } from '../records/transcript.ts';
import { splitContent } from '../records/content-calls.ts';
import { toHistory } from './fold-history.ts';
import type { History } from './history.ts';
import type { TranscriptRecord } from '../records/record.ts';
import { parseJson } from '../../session/text/parse-object.ts';

/** Far above any real transcript: a line may contain a tool's whole output, and an imported turn a whole long log. */
const transcriptLimits = { lineLength: 64 * 1024 * 1024, lines: 1_000_000 };

/**
 * Never throws. Skips lines that are not records, repairs lines that a crash has joined, torn or filled with NUL
 * characters, and reports both by line. A line of an unknown type becomes an `OtherRecord`. Skips everything beyond the
 * limits. `split` returns the values that one value represents.
 */
export function decodeTranscript(text: string, split?: (value: unknown) => unknown[]): Transcript {
  const decoder = openTranscriptDecoder({ text: Infinity, line: Infinity }, split);
  decoder.push(text);
  return decoder.end().value;
}

export interface TranscriptDecoder {
  push(piece: string): void;
  /** `cut`: the number of omitted characters. */
  end(): { value: Transcript; cut: number };
  heldLength(): number;
}

/**
 * Like `decodeTranscript`, for a text that arrives in pieces. Keeps as much of a long line as `limits` allow and does
 * not repair the line, because half of it may mean something else.
 */
export function openTranscriptDecoder(
  limits: LineLimits,
  split: (value: unknown) => unknown[] = (value) => [value],
): TranscriptDecoder {
  const transcript: Transcript = { records: [], skipped: [], repaired: [] };
  let [line, cut, isBegun] = [0, 0, false];
  const reader = openLineReader(limits, (read) => {
    line += 1;
    cut += read.cut;
    const reason = toRefusal(line, read);
    if (reason === null) addLine(transcript, read, line, split);
    else if (line <= transcriptLimits.lines + 1) transcript.skipped.push({ line, reason });
  });
  return {
    push(piece) {
      reader.push(!isBegun && piece.startsWith('\uFEFF') ? piece.slice(1) : piece);
      isBegun ||= piece !== '';
    },
    end() {
      reader.end();
      return { value: transcript, cut };
    },
    heldLength: () => reader.heldLength(),
  };
}

function toRefusal(line: number, { length }: ReadLine): string | null {
  if (line > transcriptLimits.lines) return `more than ${formatCount(transcriptLimits.lines)} lines`;
  if (length <= transcriptLimits.lineLength) return null;
  return `a line of ${formatCount(length)} characters, of which at most ${formatCount(transcriptLimits.lineLength)} are read`;
}

function addLine(
  transcript: Transcript,
  { text, length, cut }: ReadLine,
  line: number,
  split: (value: unknown) => unknown[],
): void {
  if (text.trim() === '') return;
  const value = parseJson(text);
  if (value !== undefined) split(value).forEach((part) => addValue(transcript, part, line));
  else if (cut > 0)
    addIssue(transcript.skipped, line, `a line of ${formatCount(length)} characters that cannot be read in part`);
  else addMended(transcript, text, line, split);
}

function addMended(transcript: Transcript, text: string, line: number, split: (value: unknown) => unknown[]): void {
  const repaired = repairLine(text);
  if (typeof repaired === 'string') {
    transcript.skipped.push({ line, reason: repaired });
    return;
  }
  const before = transcript.records.length;
  for (const value of repaired.values.flatMap(split)) addValue(transcript, value, line);
  if (transcript.records.length > before) addIssue(transcript.repaired, line, repaired.reason);
}

function addValue(transcript: Transcript, value: unknown, line: number): void {
  const decoded = decodeRecord(value);
  if ('skipped' in decoded) {
    addIssue(transcript.skipped, line, decoded.skipped);
    return;
  }
  transcript.records.push(decoded.record);
  if (decoded.repaired !== undefined) addIssue(transcript.repaired, line, decoded.repaired);
}

/** Reports each line once, even if several things are wrong with it. */
function addIssue(issues: LineIssue[], line: number, reason: string): void {
  const last = issues.at(-1);
  if (last?.line !== line) issues.push({ line, reason });
  else if (!last.reason.includes(reason)) last.reason = `${last.reason}; ${reason}`;
}

/**
 * Reads a transcript for a program that has the transcript's text or its UTF-8 bytes. Never throws: the history's
 * repairs list the lines that are not records, and call the transcript `turn`.
 */
export function readTranscript(
  text: string | Uint8Array,
  turn = '01',
): { records: TranscriptRecord[]; history: History } {
  const transcript = decodeTranscript(typeof text === 'string' ? text : new TextDecoder().decode(text), splitContent);
  return { records: transcript.records, history: toHistory([{ turn, transcript }]) };
}
