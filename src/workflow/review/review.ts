/** The parts of a review. */
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { Spending } from '../../session/spending/spending.ts';
import type { ChangedFile, ReviewedTurn, TurnLabel } from './turn.ts';
import type { Answerer, Approver, Worker } from './who.ts';

export interface OwnCommit {
  commit: Oid;
  subject: string;
  /** The turn that it follows; null when it precedes the first. */
  after: TurnName | null;
}

export interface Review {
  session: SessionId;
  line: string;
  tip: Oid;
  /** The commit that the line started from; null when it started from none. */
  base: Oid | null;
  baseBranch: string | null;
  /** The session with the line that `base` is on, unless that session has landed. */
  baseSession: SessionId | null;
  turns: ReviewedTurn[];
  /** The models that have answered, including those of turns that are not shown. */
  models: Answerer[];
  /** The people who have approved or rejected plans, as far as the turns record it. */
  approvers: Approver[];
  /** The people who have edited or committed something of their own on the line. */
  people: Worker[];
  /** The user's own commits. */
  commits: OwnCommit[];
  spent: Spending;
  /** The files outside of `.teddy` that differ between base and tip. */
  files: ChangedFile[];
}

/** The turns as described by the labels of all commits, and a way to read some of them in full. */
export interface ReviewedLine extends Omit<Review, 'turns' | 'approvers'> {
  turns: TurnLabel[];
  /** Reads the turns on demand, newest first. Throws DAMAGED_SESSION or MASKING_FAILED. */
  readTurns(): AsyncGenerator<ReviewedTurn>;
}
