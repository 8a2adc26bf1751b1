/** Every session's main line, local or known only from a remote. */
import type { Project, RefTip } from '../ports.ts';
import { decodeEntry, type Entry } from '../session/entry.ts';
import { archivePrefix, parseArchiveRef, parseLineRef, shortRef, type SessionId } from '../session/names.ts';

export interface MainLine extends RefTip {
  session: SessionId;
  /** The remote's name when there is no local branch. */
  remote: string | null;
  /** ISO 8601; empty when the tip is no entry and none was found below it. */
  created: string;
  /** The tip's own entry; null for a commit of the user's. */
  entry: Entry | null;
  /** The session's local conversation branches, by their short names. */
  branches: string[];
  isArchived: boolean;
}

/** In order of creation, oldest first. `archived`: also those whose branches are gone, here and on the remotes. */
export async function listMainLines(
  project: Project,
  { archived = false }: { archived?: boolean } = {},
): Promise<MainLine[]> {
  const prefixes = ['refs/heads/teddy/', 'refs/remotes/*/teddy/*', ...(archived ? [archivePrefix] : [])];
  // What is on a branch counts, then what a remote has.
  const tips = (await project.repository.store.listTips(...prefixes)).toSorted((a, b) => toPlace(a) - toPlace(b));
  const lines = new Map<SessionId, MainLine>();
  const branches = new Map<SessionId, string[]>();
  for (const { ref, oid, message } of tips) {
    const isArchived = ref.startsWith(archivePrefix);
    const local = isArchived
      ? parseArchiveRef(ref)
      : parseLineRef(ref.replace(/^refs\/remotes\/[^/]+\//, 'refs/heads/'));
    if (local === null) continue;
    const isLocal = ref.startsWith('refs/heads/');
    if (local.branch !== null) {
      if (isLocal) branches.set(local.session, [...(branches.get(local.session) ?? []), shortRef(ref)]);
      continue;
    }
    const remote = /^refs\/remotes\/([^/]+)\//.exec(ref)?.[1] ?? null;
    if ((remote !== null || isArchived) && lines.has(local.session)) continue;
    const entry = decodeEntry(message);
    const created = entry?.created ?? (await readCreated(project, { ref, oid }));
    // A branch of the user's that is only named like a session.
    if (created === '') continue;
    lines.set(local.session, { ref, oid, session: local.session, remote, created, entry, branches: [], isArchived });
  }
  return [...lines.values()]
    .map((line) => ({ ...line, branches: branches.get(line.session) ?? [] }))
    .toSorted((a, b) => (a.created < b.created || (a.created === b.created && a.session < b.session) ? -1 : 1));
}

function toPlace({ ref }: RefTip): number {
  return ['refs/heads/', 'refs/remotes/', archivePrefix].findIndex((prefix) => ref.startsWith(prefix));
}

/** The user's own commits may stand on top of the entries. */
async function readCreated(project: Project, { oid }: RefTip): Promise<string> {
  for await (const { commit } of project.repository.store.firstParents(oid)) {
    const entry = decodeEntry(commit.message);
    if (entry) return entry.created;
  }
  return '';
}
