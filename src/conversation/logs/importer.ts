/** The contract of every importer: a foreign log goes in as pieces of text, and the units of a transcript come out. */
import type { Tokens } from '../../session/entries/entry.ts';
import type { Hash } from '../../ports/project.ts';
import type { KnownRecord } from '../records/record.ts';

/** The model that answered, and its usage. */
export interface UnitUsage {
  /** The provider's name for the model, if the log has it. */
  model?: string;
  provider?: string;
  /** Counted once, even if the log repeats it. */
  tokens?: Tokens;
  /** In US dollars. */
  costUsd?: number;
}

export const unitKinds = ['message', 'exchange', 'reply', 'plan'] as const;

/**
 * A unit becomes one entry. A `message` has one user record. An `exchange` has the text before the calls, if any, all
 * calls of an answer, and then their results in the same order. A `reply` has one text, whole or interrupted. Thoughts
 * stay next to the text, and notes and a front end's records before or after these; when there is nothing to join, they
 * are a `reply` of their own. A `plan` has one plan record and precedes the answer that submits it; only followed logs
 * have plans.
 */
export interface ImportUnit extends UnitUsage {
  kind: (typeof unitKinds)[number];
  records: KnownRecord[];
  /** The text of a `plan`. */
  plan?: string;
  /** A message that was typed while the model was working; it belongs to the open turn. */
  queued?: boolean;
  /** The conversation branch that it belongs to, 0 by default. Branch 0 begins the log, and each fork gets the next number. */
  branch?: number;
}

/** A place where something was left out or repaired. */
export interface ImportIssue {
  /** The line of the source (from 1), or the number of the message in a single JSON document. */
  line: number;
  text: string;
}

export interface ImportReport {
  /** Non-blank lines, or the messages of a single JSON document. */
  lines: number;
  records: number;
  /** How many of them are summaries that a program wrote when it compacted the conversation. */
  summaries: number;
  /** The number of issues of each kind, and the first hundred of them. */
  skipped: { count: number; issues: ImportIssue[] };
  repaired: { count: number; issues: ImportIssue[] };
  /**
   * Counts what is not part of the conversation, by kind in the plural, such as `thoughts` or `events`. Kinds that did
   * not occur are missing.
   */
  leftOut: { what: string; count: number }[];
}

export interface ImportOptions {
  hash: Hash;
  /** For everything without a time of its own in the source (ISO 8601). */
  importedAt: string;
}

/** Holds no more than one answer and its calls need. Never throws, whatever the source. */
export interface Importer {
  /** Reads the next piece of the source, cut anywhere. */
  push(text: string): ImportUnit[];
  /** Marks the end of the source. */
  end(): ImportUnit[];
  report(): ImportReport;
  /** Returns the source's title of the conversation, if it has given one; otherwise null. */
  title(): string | null;
  /** Returns where the conversation forks, once all of it was read; null when nowhere. Missing in formats that cannot tell. */
  rewinds?(): Rewinds | null;
}

/** The units on one line of the session: for each branch of the log, the number of its first units that belong to it. */
export type LogPath = ReadonlyMap<number, number>;

export interface Attempt {
  /** The line of the log (from 1) on which it begins. */
  line: number;
  /** Its first own unit: the branch, and the number of the branch's units before it. */
  begins: { branch: number; unit: number };
  /** The attempt that it forks from, by position in the list; null for the main path. */
  leaves: number | null;
  /** Includes everything said before it. */
  path: LogPath;
}

export interface Rewinds {
  /** The path that counts. */
  main: LogPath;
  /** In the order in which they began. */
  attempts: Attempt[];
}
