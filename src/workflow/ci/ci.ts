/** The result of a check of a change, or of whole lines. */
import type { Oid, RepoPath, SessionId } from '../../names.ts';
import type { LandedFrom } from '../../session/lines/landing.ts';
import type { NeededApproval } from '../verify/check-approval.ts';
import type { VerifiedSessions } from '../verify/session.ts';
import type { ReplayedLine } from '../replay/replayed.ts';

export interface CheckRequest {
  /** Revisions: what the change is to be merged into, and the change. Null: whole lines are checked. */
  range: { base: string; head: string } | null;
  /** Branches or commits of sessions; none: every line of the repository. Not looked at with a range. */
  targets: readonly string[];
  runsCommands: boolean;
  /** Fingerprints: every entry has to be signed by one of these keys. */
  signedBy: ReadonlySet<string> | undefined;
  /** `teddy.approvals` on the base branch can only ask for more. */
  requireApproval: NeededApproval | undefined;
  signal: AbortSignal;
}

export interface CheckedChange {
  /** Null: whole lines were checked. */
  range: { base: Oid; head: Oid } | null;
  /** The approval that every plan needed, and whether the base branch's `.teddy/config.yaml` is what asks for it. */
  approval: { needed: NeededApproval; isFromBase: boolean } | null;
  verified: CheckedPart<VerifiedSessions>[];
  replayed: CheckedPart<ReplayedLine>[];
  /** Parts of the check that the repository's damage has ended, each with its reason. */
  failed: CheckedPart<string>[];
  landings: CheckedLanding[];
  /** Commits that bring the files of a session without its entries. */
  squashes: { commit: Oid; session: SessionId }[];
  /** How many commits of the change no session explains: nothing looks at what they hold. */
  unrecorded: number;
}

/** A part of the check, and the words after `teddy` that check this part alone. */
interface CheckedPart<Result> {
  command: string;
  result: Result;
}

/** A commit that says it brings the code of sessions. */
export interface CheckedLanding {
  commit: Oid;
  from: LandedFrom[];
  /** Files that neither its sessions nor the commit before it give. A null path is about the commit as a whole. */
  faults: { path: RepoPath | null; message: string }[];
  /** Clauses: why not all of it is proven. */
  unproven: string[];
  /** One of its sessions cannot be had, so nobody has seen its approvals and signatures. */
  isUnseen: boolean;
}
