/** The violations that `verify` finds in a line. */
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';

/** The promise that is broken. These names appear in `--json`. */
export type Rule =
  /** A trailer is missing, repeated, malformed, or has an impossible value. */
  | 'trailers'
  /** An entry belongs to another session, is out of place, or repeats an id. */
  | 'order'
  /** A published file was changed or removed, or an entry wrote one of teddy's paths that it may not write. */
  | 'published'
  /** An object is missing or damaged. */
  | 'objects'
  /** `Teddy-Sha256` does not match the file. */
  | 'sha256'
  /** A report, transcript, log or list cannot be parsed. */
  | 'schema'
  /** `Teddy-Status`, the report and the tree disagree. */
  | 'report'
  /** A section of a log differs from what its source gives. */
  | 'log'
  | 'secret'
  /** A path, a mode or a size that no session may have. */
  | 'path'
  | 'signature'
  /** A plan was executed without the required approval. */
  | 'approval';

export interface Violation {
  rule: Rule;
  commit: Oid;
  turn: TurnName | null;
  path: RepoPath | null;
  /** One sentence, which quotes the repository unchanged. */
  message: string;
}

export interface VerifiedLine {
  session: SessionId;
  /** The name from `RecordedLine`. */
  line: string;
  tip: Oid;
  /** The number of entries that were checked. */
  entries: number;
  turns: number;
  /** False when this clone lacks a part of the line, which was not checked. */
  isWhole: boolean;
  /** The number of log sections that were rendered again with the same result; `attested`, that of those that cannot be. */
  derived: number;
  attested: number;
  /** The number of entries that one of the given keys signed; null when no keys were given. */
  signed: number | null;
  /** In the order of the line. */
  violations: Violation[];
  /** Full sentences about what could not be checked here, through no fault of the line. */
  notes: string[];
}
