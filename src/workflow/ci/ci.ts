/** The result of a check of a change, or of whole lines. */
import type { Oid, RepoPath, SessionId } from '../../names.ts';
import type { LandedFrom } from '../../session/lines/landing.ts';
import type { NeededApproval } from '../verify/check-approval.ts';
import type { VerifiedSessions } from '../verify/session.ts';
import type { ReplayedLine } from '../replay/replayed.ts';

export interface CheckRequest {
  /** Revisions: what the change will be merged into, and the change. Null to check whole lines. */
  range: { base: string; head: string } | null;
  /** Branches or commits of sessions; empty for every line of the repository. Ignored with a range. */
  targets: readonly string[];
  runsCommands: boolean;
  /** Fingerprints of keys, by one of which every entry has to be signed. */
  signedBy: ReadonlySet<string> | undefined;
  /** `teddy.approvals` on the base branch can only ask for more. */
  requireApproval: NeededApproval | undefined;
  signal: AbortSignal;
}

export interface CheckedChange {
  /** Null when whole lines were checked. */
  range: { base: Oid; head: Oid } | null;
  /** The approval that every plan needed, and whether the base branch's `.teddy/config.yaml` asked for it. */
  approval: { needed: NeededApproval; isFromBase: boolean } | null;
  verified: CheckedPart<VerifiedSessions>[];
  replayed: CheckedPart<ReplayedLine>[];
  /** Parts of the check that damage to the repository ended, each with its reason. */
  failed: CheckedPart<string>[];
  landings: CheckedLanding[];
  /** Commits that add the files of a session without its entries. */
  squashes: { commit: Oid; session: SessionId }[];
  /** How many commits of the change no session explains; their content is not checked. */
  unrecorded: number;
}

/** A part of the check, and the words after `teddy` that run only this part. */
interface CheckedPart<Result> {
  command: string;
  result: Result;
}

/** A commit that claims to bring the code of sessions. */
export interface CheckedLanding {
  commit: Oid;
  from: LandedFrom[];
  /** Files that come neither from its sessions nor from the commit before it. A null path means the commit as a whole. */
  faults: { path: RepoPath | null; message: string }[];
  /** Clauses that say why not all of it is proven. */
  unproven: string[];
  /** One of its sessions is not available, so nobody has seen its approvals and signatures. */
  isUnseen: boolean;
}
