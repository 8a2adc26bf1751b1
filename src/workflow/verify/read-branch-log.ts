/** The log that a conversation branch began with: that of the turn that it left. */
import type { Store } from '../../ports.ts';
import { decodeEntry } from '../../session/entry.ts';
import type { Oid, SessionId, TurnName } from '../../session/names.ts';
import { readTurnFile } from '../read-line.ts';
import { startsSession } from '../session-start.ts';

/** Null: the commit is the one that began it, or none did here. */
export async function readBranchLog(
  store: Store,
  { commit, session, turn }: { commit: Oid; session: SessionId; turn: TurnName },
): Promise<string | null> {
  for await (const found of store.firstParents(commit)) {
    const entry = decodeEntry(found.commit.message);
    if (entry?.kind === 'branch' && entry.turn === turn)
      return found.oid === commit ? null : readTurnFile(store, found.oid, session, turn, '_context.log');
    if (await startsSession(store, entry, found.commit)) return null;
  }
  return null;
}
