/** Lists one session's lines: its main line, its conversation branches, and other refs that point to them. */
import type { SessionSource } from '../../ports/git.ts';
import { compareTurns, nameRef, type Oid, type RefName, type SessionId, type TurnName } from '../../names.ts';
import { chooseMain, listLinesAndTips, type KnownLine } from './lines.ts';

/**
 * `pending`: the plan has not run. `failed`: the last run failed. `closed`: the last turn is over. `landed`: one of the
 * session's lines has landed in its current state. `committed`: somebody has committed another agent's work in the
 * session. `remote`: only a remote has the session.
 */
export const sessionStates = [
  'pending',
  'open',
  'closed',
  'failed',
  'landed',
  'committed',
  'archived',
  'remote',
] as const;
export type SessionState = (typeof sessionStates)[number];

export interface SessionLine {
  /** The name shown to the user, as git shortens it. */
  name: string;
  ref: RefName | null;
  tip: Oid;
  kind: 'local' | 'remote' | 'archived';
  /** The remote that has the line when there is no local branch. */
  remote: string | null;
  /** Null for the main line, and for a branch that is not named like a line. */
  branch: TurnName | null;
  isMain: boolean;
}

/** A ref that only marks a position on another line. */
export interface RefLabel {
  name: string;
  tip: Oid;
}

/**
 * Lists the main line first, then conversation branches sorted by turn, then differently named branches. When a line
 * exists in several places, the local branch represents it, or a remote branch if there is no local one; the others
 * become labels.
 */
export async function listSessionLines(
  project: SessionSource,
  session: SessionId,
): Promise<{ lines: SessionLine[]; labels: RefLabel[] }> {
  const { lines: listed, stale } = await listLinesAndTips(project, { archived: true });
  const lines = new Map<RefName, KnownLine>();
  const labels: RefLabel[] = [];
  for (const line of [...listed, ...stale].filter((one) => one.session === session)) {
    if (lines.has(line.branchRef) || stale.includes(line)) labels.push({ name: nameRef(line.ref), tip: line.oid });
    else lines.set(line.branchRef, line);
  }
  const main = chooseMain([...lines.values()]);
  return { lines: [...lines.values()].map((line) => toSessionLine(line, line === main)).toSorted(byTurn), labels };
}

function toSessionLine(line: KnownLine, isMain: boolean): SessionLine {
  const { ref, oid, remote, isArchived, branch } = line;
  const kind = isArchived ? 'archived' : remote === null ? 'local' : 'remote';
  return { name: nameRef(ref), ref, tip: oid, kind, remote, branch, isMain };
}

function byTurn(one: SessionLine, other: SessionLine): number {
  if (one.isMain !== other.isMain) return one.isMain ? -1 : 1;
  if (one.branch === null || other.branch === null) return Number(one.branch === null) - Number(other.branch === null);
  return compareTurns(one.branch, other.branch);
}
