/** The result of a push, a pull or a sync, line by line. */
import type { TeddyError } from '../../errors.ts';
import type { TransferOptions } from '../../ports/git.ts';
import type { Oid, RefName, SessionId } from '../../names.ts';
import type { Violation } from '../../session/violation.ts';
import type { ChosenRemote } from './choose-remote.ts';
import type { Move, StandingTips } from './plan-moves.ts';
import type { Standing } from './reconcile.ts';

export interface ShareRequest extends TransferOptions {
  /** A configured name, a URL or a path; undefined: as git decides. */
  remote?: string | undefined;
  selector?: string | undefined;
  all?: boolean | undefined;
  /** Archives of these months come as well, `2026-01`, of sessions that are not here. */
  months?: readonly string[] | undefined;
  /** Everything is looked at, and no ref but those in quarantine moves, here or there. */
  dryRun?: boolean | undefined;
}

/** `pushed` happened there, the others here. */
export type Step = Move['kind'] | 'pushed';

export interface SharedLine {
  ref: RefName;
  /** Null: of `teddy/global`. */
  session: SessionId | null;
  /** Before anything was done. */
  standing: Standing;
  /** In the order in which they were done, or would be. */
  did: Step[];
  /** Afterwards. */
  local: Oid | null;
  remote: Oid | null;
  /** Where what was only here has gone. */
  tail: RefName | null;
  /** Why nothing was done, or not all: `HOSTILE_SESSION`, or a guard of its work tree. */
  problem: TeddyError | null;
  /** The faults of a line that was kept out. */
  violations: Violation[];
}

export interface Shared {
  remote: ChosenRemote;
  /** Null: all sessions. */
  session: SessionId | null;
  /** In order of name. */
  lines: SharedLine[];
  /** Lines here that differ from the remote's, and were not to be shared. */
  leftOut: RefName[];
  /** The months of archives there that did not come, the newest first; nothing where a session was named. */
  monthsLeft: string[];
  notes: string[];
  /** Why nothing was pushed after what was there had been taken. */
  refusal: TeddyError | null;
  /** The push of a sync that pulls from another remote, which is `remote`. */
  pushed?: Shared;
}

export function toSharedLine({ ref, session, standing, local, remote }: StandingTips): SharedLine {
  return { ref, session, standing, did: [], local, remote, tail: null, problem: null, violations: [] };
}

export function sortLines(lines: readonly SharedLine[]): SharedLine[] {
  return lines.toSorted((a, b) => (a.ref < b.ref ? -1 : 1));
}
