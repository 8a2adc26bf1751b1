/** The parts of a review. */
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { Spending } from '../../session/spending/spending.ts';
import type { ChangedFile, ReviewedTurn, TurnLabel } from './turn.ts';
import type { Answerer, Approver, Worker } from './who.ts';

export interface OwnCommit {
  commit: Oid;
  subject: string;
  /** The turn that it stands after; null: it stands before the first. */
  after: TurnName | null;
}

export interface Review {
  session: SessionId;
  line: string;
  tip: Oid;
  /** The commit that the line started from; null when there was none. */
  base: Oid | null;
  baseBranch: string | null;
  /** The session whose line `base` is on, if that has not landed. */
  baseSession: SessionId | null;
  turns: ReviewedTurn[];
  /** The models that have answered, also in turns that are not shown. */
  models: Answerer[];
  /** Who has approved or rejected plans, as far as the turns tell. */
  approvers: Approver[];
  /** Who has edited or committed something of their own on the line. */
  people: Worker[];
  /** The user's own. */
  commits: OwnCommit[];
  spent: Spending;
  /** Between base and tip, outside of `.teddy`. */
  files: ChangedFile[];
}

/** The turns as far as the labels of all commits describe them, and a way to read some of them. */
export interface ReviewedLine extends Omit<Review, 'turns' | 'approvers'> {
  turns: TurnLabel[];
  /** The newest first. Each is read when it is asked for. Throws DAMAGED_SESSION, MASKING_FAILED. */
  readTurns(): AsyncGenerator<ReviewedTurn>;
}
