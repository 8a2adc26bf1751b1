/** The contract for every agent's log reader: whole lines go in, and a conversation's units come out on request. */
import type { Hash } from '../../ports/project.ts';
import type { ImportReport, ImportUnit } from './importer.ts';

/** A unit with its conversation branch. */
export interface AgentUnit extends ImportUnit {
  branch: number;
}

/**
 * The user went back, or two programs wrote to the same session: the units of `branch` follow the record `after` in the
 * branch `leaves`.
 */
export interface AgentFork {
  branch: number;
  leaves: number;
  /** The ID of a record in a unit of `leaves`; null for a fork before the first record. */
  after: string | null;
}

/** Units and forks, in the order in which the log settles them. */
export type AgentStep = { unit: AgentUnit } | { fork: AgentFork };

/** A log's metadata about itself, taken from the lines read so far. */
export interface AgentLogHead {
  /** The agent's own ID for the session. */
  id: string | null;
  cwd: string | null;
  /** The agent's version. */
  version: string | null;
  /** ISO 8601. */
  startedAt: string | null;
  title: string | null;
  /**
   * The session that precedes this session's first line. `endOffset` limits that session's log to this many bytes; null
   * means no limit.
   */
  forkedFrom: { id: string; endOffset: number | null } | null;
  /** The sessions whose lines may be repeated before the log's own lines, nearest first. */
  copiedFrom: string[];
  /** The session that started this one as a sub-agent. */
  parentId: string | null;
}

/** JSON written by a reader; only the reader's own version understands it. */
export type AgentCheckpoint = Record<string, unknown>;

export interface AgentLogOptions {
  hash: Hash;
  /** For records without their own time (ISO 8601). */
  importedAt: string;
  /** The position where an earlier reader of this log stopped: the next line follows that reader's last one. */
  checkpoint?: AgentCheckpoint;
  /** Set for a complete log that teddy reads once, from its first line to its last. */
  closed?: ClosedLog;
}

/** Collects additional facts about a complete log, besides its steps. */
interface ClosedLog {
  /** Filled by the reader: the line of each record in the log, by record ID. */
  lines: Map<string, number>;
}

/** A line of the log; `text` is null for an overlong line. */
export interface AgentLine {
  /** Counted from 1. */
  number: number;
  text: string | null;
}

/**
 * The steps depend only on the lines and on the `settle` calls: the steps for a log's first lines are the first steps
 * for the whole log. Never throws, whatever the log contains.
 */
export interface AgentLogReader {
  line(line: AgentLine): void;
  /** Called when the turn is over or nothing has arrived for a long time; everything incomplete then counts as complete. */
  settle(): void;
  /** Marks the end of the log. */
  end(): void;
  take(): AgentStep[];
  /** Returns null while a unit is open; reading must then resume at the last checkpoint. */
  checkpoint(): AgentCheckpoint | null;
  /** Returns true if a line needs something from before the checkpoint; the log must then be read from its beginning. */
  needsStart(): boolean;
  /** Returns true if a call has no result yet, so that the tool may still be running. */
  waitsForResult(): boolean;
  /** Returns the number of buffered records and lines, which is bounded for every log. */
  held(): number;
  head(): AgentLogHead;
  /** Reports on the lines since the checkpoint. */
  report(): ImportReport;
  /**
   * Returns the lines since the checkpoint that the reader does not understand, unchanged; the caller masks and stores
   * them. Empty for a closed log.
   */
  unknown(): AgentLine[];
}
