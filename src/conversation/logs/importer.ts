/** The promise of every importer: a foreign log comes in pieces of text, and units of a transcript come out. */
import type { Tokens } from '../../session/entries/entry.ts';
import type { Hash } from '../../ports/project.ts';
import type { KnownRecord } from '../records/record.ts';

/** The model that answered, and what it has used. */
export interface UnitUsage {
  /** The provider's name for the model, where the log has it. */
  model?: string;
  provider?: string;
  /** Counted once, whatever the log repeats. */
  tokens?: Tokens;
  /** In US dollars. */
  costUsd?: number;
}

export const unitKinds = ['message', 'exchange', 'reply', 'plan'] as const;

/**
 * A unit becomes one entry. A `message` has one user record; an `exchange` has the text before the calls, if any, all calls of
 * an answer, and then the result of each in the same order; a `reply` has one text, whole or interrupted. Thoughts stand next to the
 * text, notes and the records of a front end before or after these; where there is nothing to join, they are a `reply` of their own.
 * A `plan` has one plan record, and comes before the answer that hands it in; only logs that are followed have any.
 */
export interface ImportUnit extends UnitUsage {
  kind: (typeof unitKinds)[number];
  records: KnownRecord[];
  /** The text of a `plan`. */
  plan?: string;
  /** A message that was typed while the model was at work: it belongs to the turn that is open. */
  queued?: boolean;
  /** The branch of the conversation that it belongs to, 0 without it: 0 is the line on which the log begins, a fork makes the next number. */
  branch?: number;
}

/** Where something was left out or put right. */
export interface ImportIssue {
  /** The line of the source, from 1; in one JSON document, the number of the message. */
  line: number;
  text: string;
}

export interface ImportReport {
  /** Lines that hold something; of one JSON document, its messages. */
  lines: number;
  records: number;
  /** How many of them are summaries that a program wrote when it compacted the conversation. */
  summaries: number;
  /** How many there were of each, and the first hundred. */
  skipped: { count: number; issues: ImportIssue[] };
  repaired: { count: number; issues: ImportIssue[] };
  /**
   * Counts what is no part of the conversation, by kind, in the plural: `thoughts`, `events`. A kind that did not occur is not
   * named.
   */
  leftOut: { what: string; count: number }[];
}

export interface ImportOptions {
  hash: Hash;
  /** ISO 8601; for what has no time of its own in the source. */
  importedAt: string;
}

/** Holds no more than what one answer and its calls need. Nothing in a source makes it throw. */
export interface Importer {
  /** The next piece of the source, cut anywhere. */
  push(text: string): ImportUnit[];
  /** There is no more. */
  end(): ImportUnit[];
  report(): ImportReport;
  /** The source's name for the conversation, as far as it has given one; null when it has none. */
  title(): string | null;
  /** Where the conversation parts, once all was read; null: nowhere. Formats that cannot tell lack it. */
  rewinds?(): Rewinds | null;
}

/** The units of a line of the session: of each branch of the log, so many from its first on. */
export type LogPath = ReadonlyMap<number, number>;

export interface Attempt {
  /** The line of the log, from 1, on which it begins. */
  line: number;
  /** The first unit that is its own: the branch, and how many of its units come before. */
  begins: { branch: number; unit: number };
  /** The attempt that it leaves, by its position in the list; null: what counts. */
  leaves: number | null;
  /** All that was said before it as well. */
  path: LogPath;
}

export interface Rewinds {
  /** The path that counts. */
  main: LogPath;
  /** In the order in which they began. */
  attempts: Attempt[];
}
