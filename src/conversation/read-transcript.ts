/** A transcript as text, for programs that have one: its records, and the history that they make. */
import { splitContent } from './content-calls.ts';
import { decodeTranscript } from './decode-transcript.ts';
import { toHistory } from './fold-history.ts';
import type { History } from './history.ts';
import type { TranscriptRecord } from './record.ts';

/** Never throws: what is no record is in the repairs of the history. `turn` names the transcript in them. */
export function readTranscript(text: string, turn = '01'): { records: TranscriptRecord[]; history: History } {
  const transcript = decodeTranscript(text, splitContent);
  return { records: transcript.records, history: toHistory([{ turn, transcript }]) };
}
