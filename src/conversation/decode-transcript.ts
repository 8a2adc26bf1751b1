/** Reads `transcript.jsonl` back. Total: no text makes it throw. */
import { decodeRecord } from './decode-record.ts';
import { formatCount } from '../session/format-count.ts';
import { mendLine } from './mend-line.ts';
import type { LineIssue, Transcript } from './transcript.ts';

/** More than any transcript has: a line may hold what a tool gave out, and a turn that was imported all of a long log. */
const transcriptLimits = { lineLength: 64 * 1024 * 1024, lines: 1_000_000 };

/**
 * Never throws. What is no record is skipped, what a crash has glued, torn or filled with NUL characters is mended, and
 * both are reported by line; a line of an unknown type becomes an `OtherRecord`. What is beyond the limits is skipped.
 `split`: what one value stands for.
 */
export function decodeTranscript(text: string, split: (value: unknown) => unknown[] = (value) => [value]): Transcript {
  const transcript: Transcript = { records: [], skipped: [], mended: [] };
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text;
  let line = 1;
  for (let start = 0; start < body.length; line += 1) {
    if (line > transcriptLimits.lines) {
      transcript.skipped.push({ line, reason: `more than ${formatCount(transcriptLimits.lines)} lines` });
      break;
    }
    const newline = body.indexOf('\n', start);
    const end = newline === -1 ? body.length : newline;
    if (end - start > transcriptLimits.lineLength) transcript.skipped.push({ line, reason: tooLong(end - start) });
    else addLine(transcript, body.slice(start, end), line, split);
    start = end + 1;
  }
  return transcript;
}

function tooLong(length: number): string {
  return `a line of ${formatCount(length)} characters, of which at most ${formatCount(transcriptLimits.lineLength)} are read`;
}

function addLine(transcript: Transcript, text: string, line: number, split: (value: unknown) => unknown[]): void {
  if (text.trim() === '') return;
  const value = parseJson(text);
  if (value !== undefined) split(value).forEach((part) => addValue(transcript, part, line));
  else addMended(transcript, text, line, split);
}

function addMended(transcript: Transcript, text: string, line: number, split: (value: unknown) => unknown[]): void {
  const mended = mendLine(text);
  if (typeof mended === 'string') {
    transcript.skipped.push({ line, reason: mended });
    return;
  }
  const before = transcript.records.length;
  for (const value of mended.values.flatMap(split)) addValue(transcript, value, line);
  if (transcript.records.length > before) addIssue(transcript.mended, line, mended.reason);
}

function addValue(transcript: Transcript, value: unknown, line: number): void {
  const decoded = decodeRecord(value);
  if ('skipped' in decoded) {
    addIssue(transcript.skipped, line, decoded.skipped);
    return;
  }
  transcript.records.push(decoded.record);
  if (decoded.mended !== undefined) addIssue(transcript.mended, line, decoded.mended);
}

/** A line is reported once, whatever is wrong with it. */
function addIssue(issues: LineIssue[], line: number, reason: string): void {
  const last = issues.at(-1);
  if (last?.line !== line) issues.push({ line, reason });
  else if (!last.reason.includes(reason)) last.reason = `${last.reason}; ${reason}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
