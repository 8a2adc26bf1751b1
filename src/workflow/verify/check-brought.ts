/** The session files that a change brings: each has to be what an entry that it brings has there. */
import type { Store, TreeFile } from '../../ports/git.ts';
import { turnOfPath } from '../../session/line-paths.ts';
import { joinPath, sessionDir, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import type { BroughtChange } from './find-brought.ts';
import type { Violation } from '../../session/violation.ts';

const sessionsDir = '.teddy/sessions' as RepoPath;

/**
 * A merge can hold any tree, whatever its parents have. Not looked at are files that `base` has alike, which the merge cannot have
 * changed, whole sessions that are left out, as `land` does, and lists of files, which are the user's to edit.
 */
export async function checkBrought(store: Store, change: BroughtChange): Promise<Violation[]> {
  const { base, head } = change;
  const fork = await store.mergeBase(head, [base]);
  const [now, before, target] = await Promise.all([
    readFiles(store, head),
    readFiles(store, fork),
    readFiles(store, base),
  ]);
  const brought = await readBrought(store, change);
  const isAlike = (file: TreeFile, other: TreeFile | undefined) => file.oid === other?.oid && file.mode === other.mode;
  const violations: Violation[] = [];
  const blame = (path: RepoPath, message: string) =>
    violations.push({ rule: 'published', commit: head, turn: null, path, message });
  for (const [path, file] of now) {
    if ([before, target].some((files) => isAlike(file, files.get(path)))) continue;
    const session = sessionOf(path);
    const entries = brought.get(session);
    if (entries === undefined) blame(path, 'The change brings a file of a session, and no entry of that session.');
    else if (path !== listOf(session) && !entries.some((files) => isAlike(file, files.get(path))))
      blame(path, 'The change brings a file that no entry of its session has like that.');
  }
  const turns = new Set([...now.keys()].map(turnDirOf));
  for (const [session, entries] of brought) {
    for (const path of new Set(entries.flatMap((files) => [...files.keys()]))) {
      if (now.has(path) || path === listOf(session) || !turns.has(turnDirOf(path))) continue;
      blame(path, 'The change leaves out a file of a turn that it brings.');
    }
  }
  return violations;
}

/** Of each session, the files of the newest entry on each of its lines. */
async function readBrought(store: Store, { lines }: BroughtChange): Promise<Map<SessionId, Map<RepoPath, TreeFile>[]>> {
  const brought = new Map<SessionId, Map<RepoPath, TreeFile>[]>();
  for (const { session, entry } of lines) {
    const files = await readFiles(store, entry, sessionDir(session));
    brought.set(session, [...(brought.get(session) ?? []), files]);
  }
  return brought;
}

async function readFiles(store: Store, commit: Oid | null, dir = sessionsDir): Promise<Map<RepoPath, TreeFile>> {
  const tree = commit === null ? null : await store.readDir(commit, dir);
  const files = tree === null ? [] : await store.listTree(tree.oid);
  return new Map(files.map((file) => [joinPath(dir, file.path), file]));
}

function sessionOf(path: RepoPath): SessionId {
  return (path.slice(sessionsDir.length + 1).split('/')[0] ?? '') as SessionId;
}

function listOf(session: SessionId): RepoPath {
  return joinPath(sessionDir(session), 'session.context');
}

function turnDirOf(path: RepoPath): string {
  const session = sessionOf(path);
  return `${session}/${turnOfPath(session, path)?.turn ?? ''}`;
}
