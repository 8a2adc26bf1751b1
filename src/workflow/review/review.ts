/** The parts of a review. */
import type { Signature } from '../../ports/git.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { Spending } from '../../session/spending/spending.ts';
import type { ChangedFile, ReviewedTurn, TurnLabel } from './turn.ts';
import type { Answerer, Approver, Worker } from './who.ts';

export interface OwnCommit {
  commit: Oid;
  subject: string;
  /** The turn before it; null when it precedes the first turn. */
  after: TurnName | null;
}

export interface Review {
  session: SessionId;
  line: string;
  tip: Oid;
  /** The commit where the line started; null when it started from no commit. */
  base: Oid | null;
  baseBranch: string | null;
  /** The session whose line `base` is on, unless that session has landed. */
  baseSession: SessionId | null;
  turns: ReviewedTurn[];
  /** The models that have answered, including models in turns not shown. */
  models: Answerer[];
  /** The people who have approved or rejected plans, if the turns record it. */
  approvers: Approver[];
  /** The people who have their own edits or commits on the line. */
  people: Worker[];
  /** The user's own commits. */
  commits: OwnCommit[];
  spent: Spending;
  /** The files outside `.teddy` that differ between base and tip. */
  files: ChangedFile[];
}

/** A line's newest turns, with the signatures of those who decided about them. */
export interface SignedReview extends Omit<Review, 'turns' | 'approvers'> {
  turns: TurnLabel[];
  /** Oldest first. */
  newest: ReviewedTurn[];
  /** The signed entries. */
  signatures: ReadonlyMap<Oid, Signature>;
}

/** Turns described by their commits' labels, and a way to read some turns in full. */
export interface ReviewedLine extends Omit<Review, 'turns' | 'approvers'> {
  turns: TurnLabel[];
  /** Reads the turns on demand, newest first. Throws DAMAGED_SESSION or MASKING_FAILED. */
  readTurns(): AsyncGenerator<ReviewedTurn>;
}
