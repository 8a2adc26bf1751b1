/** A fault that `verify` finds in a line. */
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';

/** Which promise is broken. They are part of `--json`. */
export type Rule =
  /** A trailer is missing, twice there, malformed, or says what cannot be. */
  | 'trailers'
  /** An entry that is not of this session, stands where it cannot, or has an id for the second time. */
  | 'order'
  /** A published file was changed or removed, or a path of teddy's own written by no entry that may. */
  | 'published'
  /** An object is missing or damaged. */
  | 'objects'
  /** `Teddy-Sha256` is not that of the file. */
  | 'sha256'
  /** A file does not read as what it is: report, transcript, log, list. */
  | 'schema'
  /** `Teddy-Status`, the report and the tree do not say the same. */
  | 'report'
  /** A section of a log is not what its source gives. */
  | 'log'
  | 'secret'
  /** A path, a mode or a size that no session has. */
  | 'path'
  | 'signature'
  /** A plan went on without the approval that was asked for. */
  | 'approval';

export interface Violation {
  rule: Rule;
  commit: Oid;
  turn: TurnName | null;
  path: RepoPath | null;
  /** One sentence; what comes from the repository stands in it as it is. */
  message: string;
}

export interface VerifiedLine {
  session: SessionId;
  /** The name from `RecordedLine`. */
  line: string;
  tip: Oid;
  /** How many entries and turns were looked at. */
  entries: number;
  turns: number;
  /** False: this clone does not have all of the line, and the rest was not looked at. */
  isWhole: boolean;
  /** Counts sections of logs: those that were rendered again and are the same, and those that nothing can render again. */
  derived: number;
  attested: number;
  /** The number of entries that one of the named keys has signed; null when no keys were named. */
  signed: number | null;
  /** In the order of the line. */
  violations: Violation[];
  /** Whole sentences about what could not be checked here, through no fault of the line. */
  notes: string[];
}
