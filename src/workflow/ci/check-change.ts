/** Checks everything in a change: sessions' entries, landings of their code, and commits that no session explains. */
import { isDamage, TeddyError } from '../../errors.ts';
import type { Commit, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { isSessionId, sessionDir, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import { decodeLandings, mergeCommits } from '../../session/lines/landing.ts';
import { parseRepoPath } from '../../session/paths/paths.ts';
import { parseTrackedConfig, trackedConfigPath, type TrackedConfig } from '../../session/settings/tracked-config.ts';
import { findRecorded, listRecorded, requireCommit, type RecordedLine } from '../line/find-recorded.ts';
import { toText } from '../../view/view.ts';
import { replayLine } from '../replay/line.ts';
import { findBrought } from '../verify/find-brought.ts';
import { verifySession } from '../verify/session.ts';
import { checkLandings } from './check-landings.ts';
import type { CheckedChange, CheckRequest } from './ci.ts';

/**
 * Checks the change. Throws UNKNOWN_COMMIT, UNKNOWN_SESSION, AMBIGUOUS_SESSION, INTERRUPTED; SHALLOW_CLONE when history
 * is cut off.
 */
export async function checkChange(project: Project, request: CheckRequest): Promise<CheckedChange> {
  if ((await project.repository.store.cutCommits()).size > 0)
    throw new TeddyError(
      'SHALLOW_CLONE',
      'The clone is shallow, so session history is cut off.',
      'Deepen it: `git fetch --unshallow`; on GitHub, set `fetch-depth: 0` in actions/checkout.',
    );
  return request.range === null ? checkLines(project, request) : checkRange(project, request, request.range);
}

async function checkLines(project: Project, request: CheckRequest): Promise<CheckedChange> {
  const { targets, signal, signedBy, requireApproval, requirePromise } = request;
  const names = targets.length > 0 ? targets : (await listRecorded(project)).map(({ name }) => name);
  const checked = { ...emptyCheck(), approval: toApproval(requireApproval, undefined) };
  for (const target of names) {
    const options = { target, all: false, fsck: false, signal, signedBy, requireApproval, requirePromise };
    const result = await verifySession(project, options);
    checked.verified.push({ command: `verify ${target}`, result });
    await replay(project, await findRecorded(project, target), { target, shown: target }, { request, checked });
  }
  return checked;
}

async function checkRange(
  project: Project,
  request: CheckRequest,
  range: { base: string; head: string },
): Promise<CheckedChange> {
  const { store } = project.repository;
  const base = await requireCommit(store, range.base, baseHint);
  const head = await requireCommit(store, range.head, 'Name the commit with the change: `--head <commit>`.');
  const tracked = await readTracked(store, base);
  const approval = toApproval(request.requireApproval, tracked?.values.get('approvals'));
  const isAllowed = (path: RepoPath) => tracked?.allowed.some((matches) => matches(path)) === true;
  const { signal, signedBy } = request;
  const requirePromise = request.requirePromise && { ...request.requirePromise, isAllowed };
  const options = { signal, signedBy, requireApproval: approval?.needed, requirePromise };
  const commits = await readCommits(store, base, head);
  const checked = { ...emptyCheck(), range: { base, head }, approval };
  await checkEntries(project, commits, { request: { ...request, ...options }, checked });
  const landings = commits.filter(({ entry, from }) => entry === null && from.length > 0);
  await checkLandings(project, landings, options, async (compared, landed) => {
    checked.landings = compared;
    for (const { line, verified } of landed) {
      checked.verified.push({ command: `verify ${line.tip}`, result: { lines: [verified], fsck: null } });
      await replay(project, line, { target: line.tip, shown: line.tip }, { request, checked });
    }
  });
  checked.squashes = await findSquashes(store, { base, head }, commits);
  checked.unrecorded = await countUnrecorded(store, commits);
  return checked;
}

export interface FoundCommit {
  oid: Oid;
  commit: Commit;
  entry: Entry | null;
  from: ReturnType<typeof decodeLandings>;
}

/** Returns the commits that the head adds to the base, newest first. */
export async function readCommits(store: Store, base: Oid, head: Oid): Promise<FoundCommit[]> {
  const found = await store.findReachable('', head, [base]);
  const commits = await Promise.all(found.map((oid) => store.readCommit(oid)));
  return commits.map((commit, at) => {
    const { message } = commit;
    return { oid: found[at] as Oid, commit, entry: decodeEntry(message), from: decodeLandings(message) };
  });
}

interface Checking {
  request: CheckRequest;
  /** Collects the findings. */
  checked: CheckedChange;
}

/**
 * Checks the lines with entries in the change. For a merge, also checks its own tree, which can differ from its
 * parents' trees.
 */
async function checkEntries(
  project: Project,
  commits: readonly FoundCommit[],
  { request, checked }: Checking,
): Promise<void> {
  if (checked.range === null || commits.every(({ entry }) => entry === null)) return;
  const { signal, signedBy, requireApproval, requirePromise } = request;
  const target = `${checked.range.base}..${checked.range.head}`;
  const policy = { signedBy, requireApproval, requirePromise };
  const result = await verifySession(project, { target, all: false, fsck: false, signal, ...policy });
  checked.verified.push({ command: `verify ${target}`, result });
  for (const { session, tip } of (await findBrought(project, target))?.lines ?? []) {
    const name = `${session} (${tip.slice(0, 10)})`;
    const names = { target: tip, shown: `${checked.range.base}..${tip}` };
    await replay(project, { session, name, ref: null, tip, after: null }, names, { request, checked });
  }
}

/** Replays a line, then shows it to the caller. A line too damaged for a replay is a result, too. */
async function replay(
  project: Project,
  line: RecordedLine,
  { target, shown }: { target: string; shown: string },
  { request: { runsCommands, signal, onLine }, checked }: Checking,
): Promise<void> {
  const command = `replay ${target}${runsCommands ? ' --run-commands' : ''}`;
  try {
    checked.replayed.push({ command, result: await replayLine(project, line, { runsCommands, signal }) });
  } catch (error) {
    if (!isDamage(error)) throw error;
    checked.failed.push({ command, result: error.message });
  }
  await onLine?.(shown);
}

/** Finds the sessions whose files the change adds or changes without any of their entries. */
export async function findSquashes(
  store: Store,
  { base, head }: { base: Oid; head: Oid },
  commits: readonly FoundCommit[],
): Promise<CheckedChange['squashes']> {
  const sessionsDir = '.teddy/sessions' as RepoPath;
  const fork = (await store.mergeBase(head, [base])) ?? base;
  const [before, now] = await Promise.all([fork, head].map((commit) => store.readDir(commit, sessionsDir)));
  const known = new Map(before?.entries.map(({ name, oid }) => [name, oid]));
  const recorded = new Set(commits.map(({ entry }) => entry?.session));
  const changed = (now?.entries ?? []).filter(({ name, oid }) => known.get(name) !== oid).map(({ name }) => name);
  const squashes: CheckedChange['squashes'] = [];
  for (const session of changed) {
    if (!isSessionId(session) || recorded.has(session)) continue;
    squashes.push({ commit: (await findChanging(store, session, commits)) ?? head, session });
  }
  return squashes;
}

/** Finds the newest commit whose session files differ from its first parent's. */
async function findChanging(store: Store, session: SessionId, commits: readonly FoundCommit[]): Promise<Oid | null> {
  for (const { oid, commit } of commits) {
    const [parent] = commit.parents;
    const before = parent === undefined ? null : await store.findOid(parent, sessionDir(session));
    if ((await store.findOid(oid, sessionDir(session))) !== before) return oid;
  }
  return null;
}

/**
 * Counts commits that are neither an entry nor a landing. A merge adds nothing of its own if git merges its parents
 * into the same tree.
 */
async function countUnrecorded(store: Store, commits: readonly FoundCommit[]): Promise<number> {
  let count = 0;
  for (const { commit, entry, from } of commits)
    if (entry === null && from.length === 0 && !(await isPlainMerge(store, commit))) count += 1;
  return count;
}

async function isPlainMerge(store: Store, { parents, tree }: Commit): Promise<boolean> {
  const [one, other] = parents;
  if (one === undefined || other === undefined || parents.length !== 2) return false;
  return (await mergeCommits(store, one, other)) === tree;
}

export const baseHint = 'Fetch the branch that the change will be merged into, and name it: `--base <branch>`.';

function emptyCheck(): CheckedChange {
  const parts = { verified: [], replayed: [], failed: [], landings: [], squashes: [] };
  return { range: null, approval: null, ...parts, unrecorded: 0 };
}

/** Reads the base branch's tracked configuration, which the change cannot affect; null when there is none. */
async function readTracked(store: Store, base: Oid): Promise<TrackedConfig | null> {
  const file = await store.readFile(base, trackedConfigPath as RepoPath);
  return file === null ? null : parseTrackedConfig(toText(file.bytes));
}

function toApproval(wanted: CheckRequest['requireApproval'], tracked: string | undefined): CheckedChange['approval'] {
  const ofBase = tracked === 'others' ? 'others' : tracked === '1' ? 'anybody' : undefined;
  const isFromBase = ofBase !== undefined && wanted !== 'others' && ofBase !== wanted;
  const needed = isFromBase ? ofBase : wanted;
  return needed === undefined ? null : { needed, isFromBase };
}

/** Reads a file on the base branch; null when it does not exist. Throws UNKNOWN_COMMIT. */
export async function readBaseFile(
  { repository: { store } }: Project,
  base: string,
  path: string,
): Promise<string | null> {
  const commit = await requireCommit(store, base, baseHint);
  const parsed = parseRepoPath(path);
  const file = 'problem' in parsed ? null : await store.readFile(commit, parsed.path);
  return file === null ? null : toText(file.bytes);
}
