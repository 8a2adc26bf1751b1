/** The result of checking a change, or whole lines. */
import type { Oid, RepoPath, SessionId } from '../../names.ts';
import type { LandedFrom } from '../../session/lines/landing.ts';
import type { NeededApproval } from '../verify/check-approval.ts';
import type { VerifiedSessions, VerifySessionRequest } from '../verify/session.ts';
import type { ReplayedLine } from '../replay/replayed.ts';

export interface CheckRequest {
  /** The revisions: the change's merge target, and the change. Null to check whole lines. */
  range: { base: string; head: string } | null;
  /** Branches or commits of sessions; empty for every line in the repository. Ignored with a range. */
  targets: readonly string[];
  runsCommands: boolean;
  /** Key fingerprints; one of these keys must have signed every entry. */
  signedBy: ReadonlySet<string> | undefined;
  /** `teddy.approvals` on the base branch can only require more. */
  requireApproval: NeededApproval | undefined;
  /** With a range, `promise.allow` on the base branch names files that may change without a plan. */
  requirePromise?: VerifySessionRequest['requirePromise'];
  signal: AbortSignal;
  /**
   * Called for each line, with the name of the part of it that the change brings. Only during the call is a line here
   * that teddy has fetched for the check.
   */
  onLine?: (target: string) => Promise<void>;
}

export interface CheckedChange {
  /** Null after a check of whole lines. */
  range: { base: Oid; head: Oid } | null;
  /** The approval required for every plan, and whether the base branch's `.teddy/config.yaml` requires it. */
  approval: { needed: NeededApproval; isFromBase: boolean } | null;
  verified: CheckedPart<VerifiedSessions>[];
  replayed: CheckedPart<ReplayedLine>[];
  /** Parts of the check that a damaged repository cut short, each with its reason. */
  failed: CheckedPart<string>[];
  landings: CheckedLanding[];
  /** Commits that add a session's files without its entries. */
  squashes: { commit: Oid; session: SessionId }[];
  /** The number of commits in the change that no session explains; teddy does not check their content. */
  unrecorded: number;
}

/** A part of the check, and the words after `teddy` that run only this part. */
interface CheckedPart<Result> {
  command: string;
  result: Result;
}

/** A commit that claims to contain code from sessions. */
export interface CheckedLanding {
  commit: Oid;
  from: LandedFrom[];
  /** Files that come neither from its sessions nor from the preceding commit. A null path means the commit as a whole. */
  faults: { path: RepoPath | null; message: string }[];
  /** Clauses that explain why part of the landing is unproven. */
  unproven: string[];
  /** True when one of its sessions is not available, so that teddy cannot check the session's approvals and signatures. */
  isUnseen: boolean;
}
