/** The request and the result of a push, a pull or a sync, and the rounds until the remote stands still. */
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

/** How many paths the commits of a line change, all of them together, before git is asked which. */
interface ChangeCounter {
  /** Against its first parent. False: with this one it is too many, or they lie too deep. Several may be added at a time. */
  add(commit: Commit): Promise<boolean>;
}

export function changeCounter(store: Store): ChangeCounter {
  let [sum, left] = [0, maxChangedPaths];
  // The trees of a commit are those that the next one is compared with.
  const count = pathCounter(keepRecent(store.readTree, { max: 512 }), () => (left -= 1) >= 0);
  return {
    async add({ tree, parents: [parent] }) {
      const isThere = parent !== undefined && (await store.readSize(parent)) !== null;
      sum += await count(isThere ? (await store.readCommit(parent)).tree : null, tree);
      return sum <= maxChangedPaths && left >= 0;
    },
  };
}

/** Many may push to one remote at once: whoever was slower begins again, a little later. */
const maxRounds = 5;
const firstWaitMs = 100;

/** \`round\` returns \`changed\`, or throws REMOTE_CHANGED, where somebody else was faster; not in its last round. Throws INTERRUPTED. */
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
  // Grows, so that many who sync at once spread out instead of losing to each other again.
  await sleep(Math.random() * firstWaitMs * 2 ** round, undefined, { signal }).catch(() => {
    throw new TeddyError('INTERRUPTED', 'Interrupted.', 'What was taken stays; run the command again.');
  });
}
