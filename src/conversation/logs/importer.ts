/** The contract for every importer: a foreign log goes in as pieces of text, and a transcript's units come out. */
import type { Tokens } from '../../session/entries/entry.ts';
import type { Hash } from '../../ports/project.ts';
import type { KnownRecord } from '../records/record.ts';

/** The model that answered, and its usage. */
export interface UnitUsage {
  /** The provider's name for the model, if it is in the log. */
  model?: string;
  provider?: string;
  /** Counted once, even if the log repeats the usage. */
  tokens?: Tokens;
  /** In US dollars. */
  costUsd?: number;
}

export const unitKinds = ['message', 'exchange', 'reply', 'plan'] as const;

/**
 * A unit becomes one entry. A `message` has one user record. An `exchange` has the text before the calls, if any, all
 * calls in an answer, and then their results in the same order. A `reply` has one text, whole or interrupted. Thoughts
 * stay next to the text, and notes and a front end's records come before or after them; if there is nothing to join,
 * they form a separate `reply`. A `plan` has one plan record and precedes the answer that submits it; only followed
 * logs have plans.
 */
export interface ImportUnit extends UnitUsage {
  kind: (typeof unitKinds)[number];
  records: KnownRecord[];
  /** The text of a `plan` unit. */
  plan?: string;
  /** A message that the user typed while the model was working; it belongs to the open turn. */
  queued?: boolean;
  /** The unit's conversation branch, 0 by default. Branch 0 begins the log, and each fork gets the next number. */
  branch?: number;
}

/** A position where the importer omitted or repaired something. */
export interface ImportIssue {
  /** The source's line (from 1), or the number of the message in a single JSON document. */
  line: number;
  text: string;
}

export interface ImportReport {
  /** Non-blank lines, or the messages of a single JSON document. */
  lines: number;
  records: number;
  /** The number of records that are summaries, which a program wrote when it compacted the conversation. */
  summaries: number;
  /** The number of issues of each kind, and details of the first hundred. */
  skipped: { count: number; issues: ImportIssue[] };
  repaired: { count: number; issues: ImportIssue[] };
  /**
   * Counts everything outside the conversation, by kind in the plural, such as `thoughts` or `events`. Omits kinds that
   * did not occur.
   */
  leftOut: { what: string; count: number }[];
}

export interface ImportOptions {
  hash: Hash;
  /** For everything that has no time in the source (ISO 8601). */
  importedAt: string;
}

/** Buffers no more than one answer and its calls need. Never throws, whatever the source contains. */
export interface Importer {
  /** Reads the next piece of the source. Pieces may be cut anywhere. */
  push(text: string): ImportUnit[];
  /** Marks the end of the source. */
  end(): ImportUnit[];
  report(): ImportReport;
  /** Returns the source's title for the conversation; null when there is none yet. */
  title(): string | null;
  /**
   * Returns where the conversation forks, once the whole source has been read; null if it never forks. Absent in
   * formats that cannot represent forks.
   */
  rewinds?(): Rewinds | null;
}

/** The units on one line of the session: for each branch of the log, how many of its first units are on the line. */
export type LogPath = ReadonlyMap<number, number>;

export interface Attempt {
  /** The log's line (from 1) on which the attempt begins. */
  line: number;
  /** The first unit that belongs only to this attempt: its branch, and the number of units before it in the branch. */
  begins: { branch: number; unit: number };
  /** The attempt from which this one forks, by position in the list; null for the main path. */
  leaves: number | null;
  /** Includes everything said before the attempt. */
  path: LogPath;
}

export interface Rewinds {
  /** The path that the session follows. */
  main: LogPath;
  /** Sorted by their beginnings. */
  attempts: Attempt[];
}
