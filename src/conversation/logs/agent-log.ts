/** The promise of every reader of an agent's log: whole lines go in, and the units of a conversation come out, as often as it is asked. */
import type { Hash } from '../../ports/project.ts';
import type { ImportReport, ImportUnit } from './importer.ts';

/** A unit with the branch of the conversation that it belongs to. */
export interface AgentUnit extends ImportUnit {
  branch: number;
}

/** The user went back, or two programs write one session: the units of `branch` follow the record `after` of `leaves`. */
export interface AgentFork {
  branch: number;
  leaves: number;
  /** The id of a record that a unit of `leaves` has; null: before the first one. */
  after: string | null;
}

/** In the order in which the log decides them. */
export type AgentStep = { unit: AgentUnit } | { fork: AgentFork };

/** The log's own words about itself, as far as it has been read. */
export interface AgentLogHead {
  /** The agent's own id of the session. */
  id: string | null;
  cwd: string | null;
  /** The agent's version. */
  version: string | null;
  /** ISO 8601. */
  startedAt: string | null;
  title: string | null;
  /** The session whose history comes before the first line; `endOffset`: the bytes of its log that count, null for all. */
  forkedFrom: { id: string; endOffset: number | null } | null;
  /** The sessions whose lines it may repeat before its own, the nearest first. */
  copiedFrom: string[];
  /** The session that started this one as a sub-agent. */
  parentId: string | null;
}

/** JSON that a reader wrote, and that only the same version of it reads. */
export type AgentCheckpoint = Record<string, unknown>;

export interface AgentLogOptions {
  hash: Hash;
  /** ISO 8601; for records that have no time of their own. */
  importedAt: string;
  /** Where an earlier reader of the same log stopped: the next line is the one after its last. */
  checkpoint?: AgentCheckpoint;
  /** The log is whole, and is read once, from its first line to its last. */
  closed?: ClosedLog;
}

/** Gathers what a log that is whole tells beside its steps. */
interface ClosedLog {
  /** Is filled: by the id of a record, the line that it was read from. */
  lines: Map<string, number>;
}

/** A line of the log; `text` null: it was longer than a line can be. */
export interface AgentLine {
  /** From 1. */
  number: number;
  text: string | null;
}

/**
 * The steps are a function of the lines and of where `settle` was called, and nothing else: the steps of the first lines of a log
 * are the first steps of the whole log. No log makes it throw.
 */
export interface AgentLogReader {
  line(line: AgentLine): void;
  /** The turn is over, or nothing has come for long: whatever waits for more is whole now. */
  settle(): void;
  /** There is no more. */
  end(): void;
  take(): AgentStep[];
  /** Null while a unit is open, so that reading has to begin again at the last checkpoint. */
  checkpoint(): AgentCheckpoint | null;
  /** A line needs what was read before the checkpoint: the log has to be read from its beginning. */
  needsStart(): boolean;
  /** A call has no result yet: the tool may be at work still. */
  waitsForResult(): boolean;
  /** Counts the records and lines that are held back: no log makes it grow without end. */
  held(): number;
  head(): AgentLogHead;
  /** Counts the lines since the checkpoint. */
  report(): ImportReport;
  /** Lines since the checkpoint that no reader understands, as they stand; the caller masks and keeps them. Of a closed log, none. */
  unknown(): AgentLine[];
}
