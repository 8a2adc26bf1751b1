/**
 * Takes a first look at a foreign line: its size, and whether it is a line at all. Afterwards, the other checks may
 * read the line.
 */
import { foldPart } from '../../session/paths/paths.ts';
import { DamagedObjectError } from '../../errors.ts';
import type { Store, TreeEntry } from '../../ports/git.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { maxChangedPaths } from '../../session/paths/count-paths.ts';
import type { Oid, RepoPath, SessionId } from '../../names.ts';
import { isOnAnyLine } from '../../session/entries/ancestry.ts';
import { cutBeforeStart, holdsSession, startsSession } from '../line/session-start.ts';
import type { Violation } from '../../session/entries/violation.ts';
import { changeCounter } from './shared-line.ts';

export interface Survey {
  /** The ID of the line's start entry; null when the line continues a local one. */
  startId: string | null;
}

/** teddy supports sessions with up to 10,000 turns, each with a few entries. */
const maxCommits = 200_000;

/** Counting commits one by one would spend most of the time waiting for git. */
const countedAtATime = 32;

interface Descent {
  startId: string | null;
  /** The parent of the session's oldest entry; undefined when there is no entry. */
  below: Oid | null | undefined;
  /** The parent of the oldest new commit. */
  end: Oid | null;
  count: number;
  isLarge: boolean;
}

export const tooManyPaths = `its commits change more than ${maxChangedPaths} paths`;

/** Returns a string that explains a refusal of the line. `known` are the same session's local tips. Throws DAMAGED_SESSION. */
export async function surveyLine(
  store: Store,
  { tip, session }: { tip: Oid; session: SessionId },
  known: readonly Oid[],
): Promise<Survey | string> {
  const { startId, below, end, count, isLarge } = await descend(store, { tip, session }, known);
  if (isLarge) return tooManyPaths;
  if (count > maxCommits) return `it has more than ${maxCommits} commits`;
  // Commits that came into a local line through a merge were never checked as a line.
  if (startId === null && known.length > 0 && !(await isOnAnyLine(store, known, end ?? tip)))
    return surveyLine(store, { tip, session }, []);
  if (count === 0) return { startId: null };
  if (startId === null && (end === null || !(await isOfSession(store, end, session)))) {
    // This clone cannot show whether a start exists below the cut.
    if (end !== null && (await store.cutCommits()).size > 0) return cutBeforeStart;
    if (end !== null && (await store.readSize(end)) === null)
      throw new DamagedObjectError(`The commit ${end} is missing.`, 'See `git fsck`.');
    return below === undefined ? `none of its commits is an entry of ${session}` : 'it has no start';
  }
  return { startId };
}

async function descend(
  store: Store,
  { tip, session }: { tip: Oid; session: SessionId },
  known: readonly Oid[],
): Promise<Descent> {
  const found: Descent = { startId: null, below: undefined, end: null, count: 0, isLarge: false };
  const counter = changeCounter(store);
  const counting: Promise<boolean>[] = [];
  for await (const { commit } of store.firstParents(tip, [...known])) {
    found.count += 1;
    found.end = commit.parents[0] ?? null;
    // Count the commits before asking git for the changes, because git keeps all of them in memory.
    const counted = counter.add(commit);
    // The caller who awaits the promise receives the error.
    counted.catch(() => undefined);
    counting.push(counted);
    found.isLarge = counting.length > countedAtATime && (await counting.shift()) === false;
    if (found.isLarge || found.count > maxCommits) break;
    const entry = decodeEntry(commit.message);
    if (entry?.session !== session) continue;
    found.below = found.end;
    if (entry.kind !== 'start') continue;
    found.startId = entry.id;
    // The user's own history below it is long.
    if (await startsSession(store, entry, commit)) break;
  }
  found.isLarge ||= (await Promise.all(counting)).includes(false);
  return found;
}

/** Returns true if a commit's nearest entry, at or below it, belongs to the session. */
async function isOfSession(store: Store, commit: Oid, session: SessionId): Promise<boolean> {
  if (!(await holdsSession(store, commit, session))) return false;
  let count = 0;
  for await (const found of store.firstParents(commit)) {
    count += 1;
    if (decodeEntry(found.commit.message)?.session === session) return true;
    if (count > maxCommits) return false;
  }
  return false;
}

/**
 * Checks the last tree's top directory, whoever put files in it: a line may begin on code that already contains bad
 * files, and in that case none of the line's entries changes them.
 */
export async function findTopViolations(store: Store, tip: Oid): Promise<Violation[]> {
  const read = async (path: string) => (await store.readDir(tip, path as RepoPath))?.entries ?? [];
  const [root, own, sessions] = await Promise.all([read(''), read('.teddy'), read('.teddy/sessions')]);
  return [
    ...root.flatMap((entry) => toViolation(tip, entry, '', whyBadInRoot(entry))),
    ...own.flatMap((entry) => toViolation(tip, entry, '.teddy/', whyBadBelow(entry))),
    ...sessions.flatMap((entry) => toViolation(tip, entry, '.teddy/sessions/', whyBadBelow(entry))),
  ];
}

function whyBadInRoot({ name, mode }: TreeEntry): string | null {
  const folded = foldPart(name);
  if (name === '.teddy') return mode === '40000' ? null : '.teddy is a directory; nothing else may have that name.';
  const isSpelling = folded === '.teddy' || /^teddy~\d+$/.test(folded);
  return isSpelling ? 'The path is .teddy in another spelling.' : null;
}

function whyBadBelow({ mode }: TreeEntry): string | null {
  return mode === '100644' || mode === '40000' ? null : 'It is neither a plain file nor a directory.';
}

function toViolation(commit: Oid, { name }: TreeEntry, dir: string, message: string | null): Violation[] {
  return message === null ? [] : [{ rule: 'path', commit, turn: null, path: `${dir}${name}` as RepoPath, message }];
}
