/**
 * Finds the commits in which people committed code that other agents left in the work tree. The sessions of these
 * agents count as done, like landed ones.
 */
import { parseLineRef, type Oid, type RefName, type RepoPath, type SessionId } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { openLineIndex, type IndexedFields, type LineIndex } from '../../session/lines/line-index.ts';
import { readBaseTips } from '../../session/lines/find-landed.ts';
import { listLines, type KnownLine, type Tips } from '../../session/lines/lines.ts';
import { entryMs } from '../../session/entries/logged-entry.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';
import { readStarts, type SessionStart } from '../../session/lines/session-starts.ts';

type CommittableLine = Pick<KnownLine, 'ref' | 'oid' | 'session' | 'nearest'>;

/**
 * Limits of the search: the maximum time between a session's last step and a commit, and the maximum number of files in
 * the session.
 */
const [longestMs, mostFiles] = [30 * 24 * 60 * 60 * 1000, 200];

/**
 * Returns, by line, the commit that put the last version of every file that the agent's turns changed on the session's
 * base branch, on a default branch, or on HEAD; when several commits did, the last one. Omits lines that are not
 * another agent's and lines with code that no branch contains in full. Caches results: a call costs nothing while no
 * branch has moved, and two git processes otherwise. Throws GIT_FAILED.
 */
export async function findCommitted(
  project: Source,
  lines: readonly CommittableLine[],
  starts: ReadonlyMap<SessionId, SessionStart>,
  listed?: Tips,
): Promise<Map<RefName, Oid>> {
  const index = await openLineIndex(project.repository.cache);
  const captured = toCaptured(lines, starts);
  const bases = captured.length === 0 ? [] : await listBases(project, captured, starts, listed);
  const key = bases.map((oid) => oid.slice(0, 12)).join(' ');
  const open = captured.filter((line) => ![key, forGood].includes(String(readKept(index, line)?.[0])));
  if (open.length > 0) {
    const changes = await readChanges(project, index, open);
    const withCode = open.filter(({ ref }) => changes.get(ref)?.length);
    const search = await openSearch(project, bases, withCode);
    const now = project.clock.now().getTime();
    for (const line of open) {
      const left = changes.get(line.ref) ?? [];
      const commit = left.length === 0 ? null : await search(line, left);
      // A recent commit may yet be amended.
      const isDone = left.length === 0 || lastMs(line) < now;
      keep(index, line, { committed: [isDone ? forGood : key, commit] });
    }
    await index.save();
  }
  return new Map(
    captured.flatMap((line) => {
      const commit = readKept(index, line)?.[1];
      return typeof commit === 'string' ? [[line.ref, commit as Oid]] : [];
    }),
  );
}

/** Finds a single line's commit, or null. */
export async function findCommit(
  project: Source,
  line: Pick<CommittableLine, 'ref' | 'oid' | 'session'>,
): Promise<Oid | null> {
  const nearest = await findNearestEntry(project, line.oid);
  if (nearest === null) return null;
  const starts = await readStarts(project, [{ ...nearest.entry, oid: line.oid }]);
  return (await findCommitted(project, [{ ...line, nearest }], starts)).get(line.ref) ?? null;
}

/** Returns, by path, the earliest session of another agent that left this version of the file. Skips the session `but`. */
export async function findMakers(
  project: Source,
  versions: readonly Version[],
  but: SessionId,
): Promise<ReadonlyMap<RepoPath, SessionId>> {
  const lines = (await listLines(project)).filter(({ session, remote }) => session !== but && remote === null);
  const starts = await readStarts(
    project,
    lines.map((line) => ({ ...line, created: line.nearest.entry.created })),
  );
  const captured = toCaptured(lines, starts).toSorted((a, b) =>
    a.nearest.entry.created < b.nearest.entry.created ? -1 : 1,
  );
  const index = await openLineIndex(project.repository.cache);
  const changes = await readChanges(project, index, captured);
  await index.save();
  const makers = new Map<RepoPath, SessionId>();
  for (const { path, blob } of versions) {
    const maker = captured.find(({ ref }) => changes.get(ref)?.some((one) => one.path === path && one.blob === blob));
    if (maker !== undefined) makers.set(path, maker.session);
  }
  return makers;
}

function toCaptured(lines: readonly CommittableLine[], starts: ReadonlyMap<SessionId, SessionStart>): CapturedLine[] {
  return lines.flatMap((line) => {
    const start = starts.get(line.session);
    return start === undefined || start.agent === null ? [] : [{ ...line, start }];
  });
}

type Source = Pick<Project, 'repository' | 'clock'>;
type CapturedLine = CommittableLine & { start: SessionStart };
interface Version {
  path: RepoPath;
  /** Null when the file was deleted. */
  blob: Oid | null;
}

/** Marks a result that stays true however the branches move. */
const forGood = '-';

function readKept(index: LineIndex, { ref, oid }: CommittableLine) {
  return index.get(ref, oid)?.fields?.['committed'];
}

function keep(index: LineIndex, { ref, oid, nearest }: CommittableLine, fields: IndexedFields): void {
  index.set(ref, oid, { nearest, fields: { ...index.get(ref, oid)?.fields, ...fields } });
}

function lastMs({ nearest }: CommittableLine): number {
  return entryMs(nearest.entry) + longestMs;
}

async function listBases(
  { repository }: Source,
  lines: readonly CapturedLine[],
  starts: ReadonlyMap<SessionId, SessionStart>,
  listed?: Tips,
): Promise<Oid[]> {
  const { usual, own } = await readBaseTips({ repository }, lines, starts, listed);
  const head = (await repository.workspace?.head()) ?? null;
  const here = head === null || (head.ref !== null && parseLineRef(head.ref) !== null) ? null : head.oid;
  return [...new Set([...usual, ...[...own.values()].flat(), here].filter((oid) => oid !== null))].toSorted();
}

/**
 * Returns the last versions of the files that the agent's turns have changed since the session began; empty when there
 * are more than `mostFiles`.
 */
async function readChanges(
  { repository: { store, blame } }: Source,
  index: LineIndex,
  lines: readonly CapturedLine[],
): Promise<Map<RefName, Version[]>> {
  const unread = lines.filter(({ ref, oid }) => index.get(ref, oid)?.fields?.['changed'] === undefined);
  const tips = unread.map(({ oid }) => oid);
  const begins = unread.map(({ start }) => start.oid);
  const marked = unread.length === 0 ? [] : await blame.findMarked(['Teddy-Entry: snapshot'], tips, begins);
  const last = new Map<SessionId, Map<RepoPath, Oid | null>>(unread.map(({ session }) => [session, new Map()]));
  for (const { message, changes } of marked) {
    const entry = decodeEntry(message);
    const files = entry?.turn == null || entry.head === undefined ? undefined : last.get(entry.session);
    for (const { path, blob } of changes) if (files?.has(path) === false && !isSessionPath(path)) files.set(path, blob);
  }
  for (const line of unread) {
    const files = [...(last.get(line.session) ?? [])];
    const before = files.length > mostFiles ? [] : files.map(([path]) => store.findOid(line.start.oid, path));
    const was = await Promise.all(before);
    const changed = files.flatMap(([path, blob], at) =>
      was[at] === undefined || was[at] === blob ? [] : [path, blob],
    );
    keep(index, line, { changed });
  }
  return new Map(lines.map((line) => [line.ref, toVersions(index.get(line.ref, line.oid)?.fields?.['changed'] ?? [])]));
}

function toVersions(kept: readonly unknown[]): Version[] {
  const paths = kept.filter((_, at) => at % 2 === 0) as RepoPath[];
  return paths.map((path, at) => ({ path, blob: kept[2 * at + 1] as Oid | null }));
}

/**
 * Opens a search for the last of the commits that first contained these versions since the session began. The search
 * returns null when any version is missing.
 */
async function openSearch(
  { repository: { blame, store } }: Source,
  bases: readonly Oid[],
  lines: readonly CapturedLine[],
): Promise<(line: CapturedLine, versions: readonly Version[]) => Promise<Oid | null>> {
  const toSeconds = (line: CapturedLine) => Math.floor(Date.parse(line.nearest.entry.created) / 1000);
  const since = Math.min(...lines.map(toSeconds));
  const commits = bases.length * lines.length === 0 ? [] : await blame.findMarked([], bases, [], since);
  const toKey = ({ path, blob }: Version) => `${blob} ${path}`;
  const found = new Map<string, number[]>();
  for (const [at, { changes }] of commits.entries())
    for (const change of changes) {
      const places = found.get(toKey(change));
      if (places === undefined) found.set(toKey(change), [at]);
      else places.push(at);
    }
  const isThere = async ({ path, blob }: Version) =>
    (await Promise.all(bases.map((base) => store.findOid(base, path)))).includes(blob);
  return async (line, versions) => {
    let last = Number.POSITIVE_INFINITY;
    for (const version of versions) {
      const places = found.get(toKey(version)) ?? [];
      const first = places.findLast((at) => (commits[at]?.seconds ?? 0) >= toSeconds(line));
      // The agent's turn may include code that others had committed before.
      if (first === undefined && !(await isThere(version))) return null;
      last = Math.min(last, first ?? last);
    }
    return commits[last]?.oid ?? null;
  };
}
