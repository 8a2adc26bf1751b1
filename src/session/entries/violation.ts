/** The violations that `verify` finds in a line. */
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';

/** The broken promise. These names appear in `--json`. */
export type Rule =
  /** A trailer is missing, repeated, malformed, or has an impossible value. */
  | 'trailers'
  /** An entry belongs to another session, is out of place, or repeats an id. */
  | 'order'
  /** A published file was changed or removed, or an entry wrote one of teddy's paths without the right to do so. */
  | 'published'
  /** An object is missing or damaged. */
  | 'objects'
  /** `Teddy-Sha256` does not match the file. */
  | 'sha256'
  /** A report, transcript, log or list cannot be parsed. */
  | 'schema'
  /** `Teddy-Status`, the report and the tree disagree. */
  | 'report'
  /** A section of a log differs from its source. */
  | 'log'
  | 'secret'
  /** A path, mode or size that no session may have. */
  | 'path'
  | 'signature'
  /** teddy executed a plan without the required approval. */
  | 'approval'
  /** A run changed files that no plan names, or did not do what its plan says. */
  | 'promise';

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
  /** The number of checked entries. */
  entries: number;
  turns: number;
  /** False when this clone lacks part of the line, so that part was not checked. */
  isWhole: boolean;
  /**
   * The number of log sections that teddy re-rendered with an equal result; `attested` counts the sections that cannot
   * be re-rendered.
   */
  derived: number;
  attested: number;
  /** The number of entries signed by one of the given keys; null when the caller gave no keys. */
  signed: number | null;
  /** In the order of the line. */
  violations: Violation[];
  /** Full sentences about checks that teddy could not make here, through no fault of the line. */
  notes: string[];
}
