/**
 * The contract of every reader of an agent's log: whole lines go in, and the units of a conversation come out whenever
 * they are requested.
 */
import type { Hash } from '../../ports/project.ts';
import type { ImportReport, ImportUnit } from './importer.ts';

/** A unit with the conversation branch that it belongs to. */
export interface AgentUnit extends ImportUnit {
  branch: number;
}

/** The user went back, or two programs wrote the same session: the units of `branch` follow the record `after` of `leaves`. */
export interface AgentFork {
  branch: number;
  leaves: number;
  /** The id of a record in a unit of `leaves`; null for a fork before the first record. */
  after: string | null;
}

/** Units and forks, in the order in which the log settles them. */
export type AgentStep = { unit: AgentUnit } | { fork: AgentFork };

/** The log's description of itself, as far as it has been read. */
export interface AgentLogHead {
  /** The agent's own id of the session. */
  id: string | null;
  cwd: string | null;
  /** The agent's version. */
  version: string | null;
  /** ISO 8601. */
  startedAt: string | null;
  title: string | null;
  /** The session that precedes the first line of this one; `endOffset` limits its log to so many bytes, null for no limit. */
  forkedFrom: { id: string; endOffset: number | null } | null;
  /** The sessions that may be repeated before its own lines, nearest first. */
  copiedFrom: string[];
  /** The session that started this one as a sub-agent. */
  parentId: string | null;
}

/** JSON that a reader wrote and that only the same version of the reader understands. */
export type AgentCheckpoint = Record<string, unknown>;

export interface AgentLogOptions {
  hash: Hash;
  /** For records without a time of their own (ISO 8601). */
  importedAt: string;
  /** The position where an earlier reader of the same log stopped: the next line is the one after its last. */
  checkpoint?: AgentCheckpoint;
  /** Set for a complete log that is read once, from its first line to its last. */
  closed?: ClosedLog;
}

/** Collects what a complete log reveals in addition to its steps. */
interface ClosedLog {
  /** Filled by the reader: for each record id, the line it was read from. */
  lines: Map<string, number>;
}

/** A line of the log; `text` is null when it was too long. */
export interface AgentLine {
  /** Counted from 1. */
  number: number;
  text: string | null;
}

/**
 * The steps depend only on the lines and on where `settle` was called: the steps of a log's first lines are the first
 * steps of the whole log. Never throws, whatever the log.
 */
export interface AgentLogReader {
  line(line: AgentLine): void;
  /** Called when the turn is over or nothing has arrived for long: everything that waits for more is complete now. */
  settle(): void;
  /** Marks the end of the log. */
  end(): void;
  take(): AgentStep[];
  /** Returns null while a unit is open; reading has to restart at the last checkpoint then. */
  checkpoint(): AgentCheckpoint | null;
  /** Whether a line needs something from before the checkpoint, so that the log has to be read from its beginning. */
  needsStart(): boolean;
  /** Whether a call has no result yet, so that the tool may still be running. */
  waitsForResult(): boolean;
  /** The number of records and lines held back; bounded for every log. */
  held(): number;
  head(): AgentLogHead;
  /** Reports on the lines since the checkpoint. */
  report(): ImportReport;
  /**
   * Lines since the checkpoint that the reader does not understand, unchanged; the caller masks and stores them. Empty
   * for a closed log.
   */
  unknown(): AgentLine[];
}
