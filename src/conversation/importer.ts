/** What every importer promises: a foreign log comes in pieces of text, units of a transcript come out. */
import type { KnownRecord } from './record.ts';

export const importFormats = ['claude-code', 'codex', 'openai', 'jsonl'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** What becomes one entry: a message, calls with all their results, or an answer. */
export interface ImportUnit {
  kind: 'message' | 'exchange' | 'reply';
  records: KnownRecord[];
}

/** Where something was left out or put right. */
export interface ImportIssue {
  /** Of the source, from 1; of one JSON document, the message. */
  line: number;
  text: string;
}

export interface ImportReport {
  /** Lines that hold something; of one JSON document, its messages. */
  lines: number;
  records: number;
  /** How many there were of each, and the first hundred. */
  skipped: { count: number; issues: ImportIssue[] };
  repaired: { count: number; issues: ImportIssue[] };
}

/** Holds no more than what one answer and its calls need. Nothing in a source makes it throw. */
export interface Importer {
  /** The next piece of the source, cut anywhere. */
  push(text: string): ImportUnit[];
  /** There is no more. */
  end(): ImportUnit[];
  report(): ImportReport;
  /** What the source calls the conversation, as far as it has said so; null: nothing. */
  title(): string | null;
}
