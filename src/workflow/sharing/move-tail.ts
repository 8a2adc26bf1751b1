/** Where what was only here goes, when the remote's commits keep the name of the line. */
import type { Store } from '../../ports/git.ts';
import { decodeEntry } from '../../session/entry.ts';
import {
  archivePrefix,
  archiveRef,
  conversationBranchRef,
  isTurnName,
  sessionDir,
  shortRef,
  toTurnName,
  turnNumber,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import { findFork } from '../line/ancestry.ts';

export interface Tail {
  ref: RefName;
  /** False: another line of the session ends at the same commit already. */
  isNew: boolean;
}

/**
 * Names the tail by the turn where it leaves, with the first number that is free; `taken` holds the name afterwards. `lines`:
 * what will be here, of the same session.
 */
export async function toTail(
  store: Store,
  { ref, session, local, remote }: { ref: RefName; session: SessionId; local: Oid; remote: Oid },
  taken: Set<string>,
  lines: ReadonlyMap<RefName, Oid>,
): Promise<Tail> {
  const isArchive = ref.startsWith(archivePrefix);
  const known = [...lines].find(
    ([name, oid]) => oid === local && name !== ref && name.startsWith(archivePrefix) === isArchive,
  );
  if (known !== undefined) return { ref: known[0], isNew: false };
  const turn = await readLeavingTurn(store, session, local, remote);
  for (let number = 1; ; number += 1) {
    const branch = conversationBranchRef(session, toTurnName(turn, number));
    const name = shortRef(branch).replace(/^teddy\//, '');
    if (taken.has(name)) continue;
    taken.add(name);
    return { ref: isArchive ? archiveRef(branch) : branch, isNew: true };
  }
}

/** That of the first entry which only the tail has; where none of its entries has a turn, the one that would come next. */
async function readLeavingTurn(store: Store, session: SessionId, local: Oid, remote: Oid): Promise<number> {
  const fork = await findFork(store, remote, [local]);
  let first: number | null = null;
  for await (const { commit } of store.firstParents(local, fork === null ? [] : [fork])) {
    const turn = decodeEntry(commit.message)?.turn;
    if (turn != null) first = turnNumber(turn);
  }
  if (first !== null) return first;
  const dir = fork === null ? null : await store.readDir(fork, sessionDir(session));
  const numbers = (dir?.entries ?? []).flatMap(({ name }) => (isTurnName(name) ? [turnNumber(name)] : []));
  return Math.max(0, ...numbers) + 1;
}
