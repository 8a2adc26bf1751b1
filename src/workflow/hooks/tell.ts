/** Reports the user's position in a session after a switch, and which entry a rewritten commit has replaced. */
import { userMessages } from '../../conversation/records/transcript.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { mainLineRef, parseOid, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { findHeadLine, lineName } from '../line/find.ts';
import { readLine, type TurnStatus } from '../../view/view.ts';

export interface LinePosition {
  session: SessionId;
  /** Null on the session's main line. */
  line: string | null;
  /** Null when nobody has said anything yet. */
  turn: { turn: TurnName; status: TurnStatus; hasMessage: boolean } | null;
}

/** Returns null when HEAD is not on a line, or a git operation is in progress. */
export async function describePlace(project: Project): Promise<LinePosition | null> {
  const line = await findHeadLine(project);
  if (line === null || line.tip === null) return null;
  if ((await line.workspace?.operationInProgress(line.ref)) !== null) return null;
  const { latest } = await readLine(project.repository.store, line.tip);
  return {
    session: line.session,
    line: line.ref === mainLineRef(line.session) ? null : lineName(line),
    turn: latest && {
      turn: latest.turn,
      status: latest.status,
      hasMessage: userMessages(latest.records).length > 0,
    },
  };
}

export interface RewrittenEntry {
  /** The previous commit, which still exists in git. */
  oid: Oid;
  entry: Entry;
}

/**
 * Finds a replaced entry. `text` is the input of git's post-rewrite hook, rows of `<old> <new>`. Returns null when no
 * old commit is an entry.
 */
export async function findRewritten({ repository: { store } }: Project, text: string): Promise<RewrittenEntry | null> {
  for (const [, old = ''] of text.matchAll(/^([0-9a-f]+) [0-9a-f]+(?: |$)/gm)) {
    const oid = parseOid(old);
    const entry = decodeEntry((await store.readCommit(oid)).message);
    if (entry !== null) return { oid, entry };
  }
  return null;
}
