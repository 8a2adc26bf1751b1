/** Verifies a line, a range of a line, or every line in the repository. */
import type { Project } from '../../ports/project.ts';
import { sessionDir, joinPath, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import { findRecorded, listRecorded, type RecordedLine } from '../line/find-recorded.ts';
import { readAllowedPaths } from '../line/approval-policy.ts';
import { readBaseBranch } from '../../session/lines/lines.ts';
import { findBrought, type BroughtChange } from './find-brought.ts';
import { verifyLine, type VerifyOptions } from './line.ts';
import type { VerifiedLine, Violation } from '../../session/entries/violation.ts';
import type { Store, TreeFile } from '../../ports/git.ts';
import { turnOfPath } from '../../session/lines/line-paths.ts';

export interface VerifySessionRequest extends Pick<
  VerifyOptions,
  'signal' | 'onProgress' | 'signedBy' | 'requireApproval' | 'requirePromise'
> {
  /** The target, as `findRecorded` accepts it. */
  target?: string | undefined;
  /** True to verify every line in the repository. */
  all: boolean;
  fsck: boolean;
}

interface VerifiedChange {
  base: Oid;
  head: Oid;
  violations: Violation[];
}

export interface VerifiedSessions {
  lines: VerifiedLine[];
  /** Faults in the session files that a range adds, including files from merges; only present for a range. */
  change?: VerifiedChange;
  /** The output of `git fsck`; null when fsck did not run. */
  fsck: string[] | null;
}

/** Throws UNKNOWN_SESSION, UNKNOWN_COMMIT, AMBIGUOUS_SESSION or INTERRUPTED. */
export async function verifySession(project: Project, request: VerifySessionRequest): Promise<VerifiedSessions> {
  const { target, all, fsck, ...options } = request;
  const brought = all ? null : await findBrought(project, target);
  const change = brought && {
    base: brought.base,
    head: brought.head,
    violations: await checkEntriesOf(project.repository.store, brought),
  };
  const recorded = all ? await listRecorded(project) : await listMeant(project, target, brought, change);
  const lines = await verifyLines(project, recorded, options);
  const tips = [...new Set(recorded.map(({ tip }) => tip))];
  return {
    lines,
    ...(change === null ? {} : { change }),
    fsck: fsck ? await project.repository.store.fsck(tips) : null,
  };
}

/** A range without an entry is part of a line, or its files belong to no line. */
async function listMeant(
  project: Project,
  target: string | undefined,
  brought: BroughtChange | null,
  change: VerifiedChange | null,
): Promise<RecordedLine[]> {
  if (brought !== null && brought.lines.length > 0) return brought.lines;
  return change !== null && change.violations.length > 0 ? [] : [await findRecorded(project, target)];
}

/** Checks commits that several of a session's lines share only once, and reports them with the first line. */
async function verifyLines(
  project: Project,
  recorded: readonly RecordedLine[],
  { onProgress, ...options }: VerifyOptions,
): Promise<VerifiedLine[]> {
  const lines: VerifiedLine[] = [];
  const known = new Map<SessionId, Oid[]>();
  let done = 0;
  for (const line of recorded) {
    const before = known.get(line.session) ?? [];
    const { requirePromise: needed } = options;
    const isAllowed = needed?.isAllowed ?? (needed && (await readAllowedOn(project, line)));
    const report = onProgress && ((entries: number) => onProgress(done + entries));
    const verified = await verifyLine(project, line, {
      ...options,
      known: before,
      requirePromise: needed && { ...needed, isAllowed },
      ...(report ? { onProgress: report } : {}),
    });
    lines.push(verified);
    done += verified.entries;
    known.set(line.session, [...before, line.tip]);
  }
  return lines;
}

async function readAllowedOn(project: Project, { ref }: RecordedLine): Promise<(path: RepoPath) => boolean> {
  return readAllowedPaths(project, ref === null ? null : await readBaseBranch(project, ref));
}

/** A change's session files must match the version in an entry that the change adds. */
const sessionsDir = '.teddy/sessions' as RepoPath;

/**
 * A merge can contain any tree, whatever its parents contain. Skips files that are the same in `base`, because the
 * merge cannot have changed them; whole sessions that the merge omits, as `land` does; and context lists, which the
 * user may edit.
 */
async function checkEntriesOf(store: Store, change: BroughtChange): Promise<Violation[]> {
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
    if (entries === undefined) blame(path, "The change contains a session's file but no entry of that session.");
    else if (path !== listOf(session) && !entries.some((files) => isAlike(file, files.get(path))))
      blame(path, 'The change contains a version of a file that no entry of its session has.');
  }
  const turns = new Set([...now.keys()].map(turnDirOf));
  for (const [session, entries] of brought) {
    for (const path of new Set(entries.flatMap((files) => [...files.keys()]))) {
      if (now.has(path) || path === listOf(session) || !turns.has(turnDirOf(path))) continue;
      blame(path, 'The change contains a turn but leaves out one of its files.');
    }
  }
  return violations;
}

/** Reads the files in the newest entry on each line of each session. */
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
