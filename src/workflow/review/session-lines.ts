/** The lines of one session: its main line, its conversation branches, and what else stands on them. */
import type { Project, RefTip } from '../../ports.ts';
import { decodeEntry } from '../../session/entry.ts';
import {
  archivePrefix,
  compareTurns,
  globalRef,
  parseArchiveRef,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type SessionId,
  type TurnName,
} from '../../session/names.ts';

export interface SessionLine {
  /** For a person, as git shortens it. */
  name: string;
  ref: RefName | null;
  tip: Oid;
  kind: 'local' | 'remote' | 'archived';
  /** The remote that has it, where there is no local branch. */
  remote: string | null;
  /** Null: the main line, or one that is not named like a line. */
  branch: TurnName | null;
  isMain: boolean;
}

/** A ref that is no line of its own. */
export interface RefLabel {
  name: string;
  tip: Oid;
}

type Tip = RefTip & { message: string };

/**
 * The main line first, then conversation branches in order of their turns, then branches of another name whose tip is an entry
 * of the session. Of a line that is there in several places, the branch counts, then the remote; the others are labels.
 */
export async function listSessionLines(
  { repository: { store } }: Project,
  session: SessionId,
): Promise<{ lines: SessionLine[]; labels: RefLabel[] }> {
  const tips = await store.listTips('refs/heads/', 'refs/remotes/*/teddy/*', archivePrefix);
  const found = tips.flatMap((tip) => toLine(tip, session) ?? []).toSorted(byPlace);
  const lines: SessionLine[] = [];
  const labels: RefLabel[] = [];
  for (const line of found) {
    const known = line.isMain || line.branch !== null;
    const isTaken = known && lines.some((one) => one.isMain === line.isMain && one.branch === line.branch);
    if (isTaken) labels.push({ name: line.name, tip: line.tip });
    else lines.push(line);
  }
  return { lines: lines.toSorted(byTurn), labels };
}

function toLine({ ref, oid, message }: Tip, session: SessionId): SessionLine | null {
  const remote = /^refs\/remotes\/([^/]+)\//.exec(ref)?.[1] ?? null;
  const isArchived = ref.startsWith(archivePrefix);
  const parsed = isArchived
    ? parseArchiveRef(ref)
    : parseLineRef(remote === null ? ref : `refs/heads/${ref.slice(`refs/remotes/${remote}/`.length)}`);
  const isOwn = parsed?.session === session;
  // Its memos are entries as well, but it belongs to all sessions.
  if (ref === globalRef) return null;
  if (!isOwn && (parsed !== null || remote !== null || isArchived)) return null;
  if (!isOwn && decodeEntry(message)?.session !== session) return null;
  return {
    name: isArchived ? `archive/${ref.slice(archivePrefix.length)}` : shortRef(ref),
    ref,
    tip: oid,
    kind: isArchived ? 'archived' : remote === null ? 'local' : 'remote',
    remote,
    branch: parsed?.branch ?? null,
    isMain: isOwn && parsed.branch === null,
  };
}

const places: SessionLine['kind'][] = ['local', 'remote', 'archived'];

function byPlace(one: SessionLine, other: SessionLine): number {
  return places.indexOf(one.kind) - places.indexOf(other.kind);
}

function byTurn(one: SessionLine, other: SessionLine): number {
  if (one.isMain !== other.isMain) return one.isMain ? -1 : 1;
  if (one.branch === null || other.branch === null) return Number(one.branch === null) - Number(other.branch === null);
  return compareTurns(one.branch, other.branch);
}
