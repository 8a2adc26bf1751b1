/** The request and result of a push, pull or sync, and the retries for a remote that changes meanwhile. */
import { TeddyError } from '../../errors.ts';
import type { TransferOptions, Commit, Store } from '../../ports/git.ts';
import type { Oid, RefName, SessionId } from '../../names.ts';
import type { Violation } from '../../session/entries/violation.ts';
import type { ChosenRemote } from './choose-remote.ts';
import type { Move, StandingTips } from './plan-moves.ts';
import type { Standing } from './reconcile.ts';
import { keepRecent } from '../../session/context/keep-recent.ts';
import { maxChangedPaths, pathCounter } from '../../session/paths/count-paths.ts';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ShareRequest extends TransferOptions {
  /** A configured name, a URL or a path; git decides by default. */
  remote?: string | undefined;
  selector?: string | undefined;
  all?: boolean | undefined;
  /** The months (`2026-01`) whose archives to pull, even for sessions that this repository does not have. */
  months?: readonly string[] | undefined;
  /** True to look at everything, but move no local or remote refs except refs in quarantine. */
  dryRun?: boolean | undefined;
}

/** `pushed` happened on the remote, the other steps here. */
export type Step = Move['kind'] | 'pushed';

export interface SharedLine {
  ref: RefName;
  /** Null for `teddy/global`. */
  session: SessionId | null;
  /** The standing before the first step. */
  standing: Standing;
  /** The steps that teddy took or would take, in this order. */
  did: Step[];
  /** The local tip afterwards. */
  local: Oid | null;
  remote: Oid | null;
  /** The ref that received the local-only commits. */
  tail: RefName | null;
  /** The reason why teddy did nothing, or not everything: `HOSTILE_SESSION`, or a guard of the line's work tree. */
  problem: TeddyError | null;
  /** A refused line's faults. */
  violations: Violation[];
}

export interface Shared {
  remote: ChosenRemote;
  /** Null for all sessions. */
  session: SessionId | null;
  /** Sorted by name. */
  lines: SharedLine[];
  /** Local lines that differ from the remote's but were not meant to be shared. */
  leftOut: RefName[];
  /** The months whose archives on the remote teddy did not pull, newest first; empty when the user named a session. */
  monthsLeft: string[];
  notes: string[];
  /** The reason why teddy pushed nothing after the pull. */
  refusal: TeddyError | null;
  /** The push's result when a sync pushes to a remote other than `remote`, from which it pulls. */
  pushed?: Shared;
}

export function toSharedLine({ ref, session, standing, local, remote }: StandingTips): SharedLine {
  return { ref, session, standing, did: [], local, remote, tail: null, problem: null, violations: [] };
}

export function sortLines(lines: readonly SharedLine[]): SharedLine[] {
  return lines.toSorted((a, b) => (a.ref < b.ref ? -1 : 1));
}

/** Counts the paths that all of a line's commits change, before asking git which ones. */
interface ChangeCounter {
  /**
   * Counts the changes against the commit's first parent. Resolves to false when this commit exceeds the limit, or when
   * its changes are nested too deeply. The caller may add several commits at a time.
   */
  add(commit: Commit): Promise<boolean>;
}

export function changeCounter(store: Store): ChangeCounter {
  let [sum, left] = [0, maxChangedPaths];
  // Each commit's trees are compared with the next commit's, so this keeps recent trees.
  const count = pathCounter(keepRecent(store.readTree, { max: 512 }), () => (left -= 1) >= 0);
  return {
    async add({ tree, parents: [parent] }) {
      const isThere = parent !== undefined && (await store.readSize(parent)) !== null;
      sum += await count(isThere ? (await store.readCommit(parent)).tree : null, tree);
      return sum <= maxChangedPaths && left >= 0;
    },
  };
}

/** Many clients may push to one remote at the same time; a slower push starts again a little later. */
const maxRounds = 5;
const firstWaitMs = 100;

/**
 * Retries while `round` returns \`changed\` or throws REMOTE_CHANGED because another push was faster. The last round
 * must not return \`changed\`, and its error is thrown. Throws INTERRUPTED.
 */
export async function retryWhileChanged<Value>(
  signal: AbortSignal,
  round: (at: { isLast: boolean }) => Promise<Value | 'changed'>,
): Promise<Value> {
  for (let count = 1; ; count += 1) {
    const isLast = count === maxRounds;
    const value = await round({ isLast }).catch((error: unknown) => {
      if (!isLast && error instanceof TeddyError && error.code === 'REMOTE_CHANGED') return 'changed' as const;
      throw error;
    });
    if (value !== 'changed') return value;
    await waitForOthers(count, signal);
  }
}

async function waitForOthers(round: number, signal: AbortSignal): Promise<void> {
  // The wait grows, so that many concurrent syncs spread out instead of losing to each other again.
  await sleep(Math.random() * firstWaitMs * 2 ** round, undefined, { signal }).catch(() => {
    throw new TeddyError('INTERRUPTED', 'Interrupted.', 'Everything pulled so far is kept; run the command again.');
  });
}
