/**
 * Landings that only a note names: a forge squashed sessions' code and dropped the trailers, and `teddy ci carry` noted
 * the sessions. A note is a claim. It counts only if merging the sessions' code gives exactly the squash's code.
 */
import { TeddyError } from '../../errors.ts';
import {
  isNotesRef,
  isOid,
  isRefName,
  notesCopyRef,
  notesRef,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import type { RefTip, Repository } from '../../ports/git.ts';
import { readRows, writeRows } from '../../session/entries/cached-rows.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';
import { hasSameCode, isLandedUpTo, readBaseTips } from '../../session/lines/find-landed.ts';
import {
  decodeLandings,
  landingText,
  listNewestTips,
  mergeCommits,
  type LandedFrom,
} from '../../session/lines/landing.ts';
import type { KnownLine, Tips } from '../../session/lines/lines.ts';
import type { SessionStart } from '../../session/lines/session-starts.ts';
import { listNoted, readNote } from './notes.ts';

type NotesSource = Pick<Repository, 'store' | 'cache'>;

/** Limits for one note: its size in bytes, and its claims. Every claim may cost a merge. */
const [maxBytes, maxClaims] = [64 * 1024, 8];
/** The number of squashes to examine for one line, of notes to list, and of results to keep. */
const [maxSquashes, maxNotes, maxProven] = [16, 20_000, 2000];

/** Returns the tips of all notes that may name sessions. */
export function listNotes(refs: readonly RefTip[]): Oid[] {
  return [...new Set(refs.flatMap(({ ref, oid }) => (isNotesRef(ref) ? [oid] : [])))];
}

/**
 * Returns the sessions that were squashed into a commit, according to its notes. Empty unless the content proves it, and
 * for a commit that has trailers itself. Does not throw for damaged notes, missing objects, or a repository where git
 * cannot write the merge.
 */
export async function findNotedLanding(
  repository: NotesSource,
  notes: readonly Oid[],
  commit: Oid,
): Promise<LandedFrom[]> {
  const texts = notes.map((tip) => unlessUnread(readNote(repository.store, tip, commit, maxBytes), null));
  const claims = decodeLandings((await Promise.all(texts)).join('\n'));
  const some = [...new Map(claims.map((claim) => [toWord(claim), claim])).values()].slice(0, maxClaims);
  return some.length === 0 ? [] : unlessUnread(prove(repository, commit, some), []);
}

function toWord({ session, tip }: LandedFrom): string {
  return `${session}@${tip}`;
}

function toLandings(words: readonly string[]): LandedFrom[] {
  return words.flatMap((word) => decodeLandings(`${landingText}${word}`));
}

/** The errors of notes that git cannot read, and of commits that it cannot compare here. */
const unread: readonly string[] = ['DAMAGED_SESSION', 'GIT_FAILED', 'WRITE_FAILED', 'DISK_FULL'];

async function unlessUnread<Value>(reading: Promise<Value>, otherwise: Value): Promise<Value> {
  return reading.catch((error: unknown) => {
    if (error instanceof TeddyError && unread.includes(error.code)) return otherwise;
    throw error;
  });
}

/** Keeps the result unless a claimed commit is missing, because commits never change. */
async function prove(repository: NotesSource, commit: Oid, claims: readonly LandedFrom[]): Promise<LandedFrom[]> {
  const { store, cache } = repository;
  const { parents, message } = await store.readCommit(commit);
  const [parent] = parents;
  const isNamed = decodeEntry(message) !== null || decodeLandings(message).length > 0;
  if (parent === undefined || parents.length > 1 || isNamed) return [];
  const key = `${commit}:${claims.map(toWord).join()}`;
  const rows = await readRows(cache, 'noted-landings');
  const known = rows.find(([name]) => name === key);
  if (known !== undefined) return toLandings(known.slice(1));
  const here = await Promise.all(claims.map(async ({ tip }) => (await store.resolve(tip)) === tip));
  const proven = await compare(
    repository,
    { commit, parent },
    claims.filter((_, at) => here[at]),
  );
  if (!here.includes(false))
    await writeRows(cache, 'noted-landings', [...rows, [key, ...proven.map(toWord)]].slice(-maxProven));
  return proven;
}

/**
 * Returns the one claim that gives the squash, otherwise the claims that give it together; in both cases with the
 * claims that they include. Empty when several answers are possible.
 */
async function compare(
  repository: NotesSource,
  { commit, parent }: { commit: Oid; parent: Oid },
  claims: readonly LandedFrom[],
): Promise<LandedFrom[]> {
  const { store } = repository;
  const isOwn = async ({ session, tip }: LandedFrom) =>
    (await findNearestEntry({ repository }, tip))?.entry.session === session && !(await store.isAncestor(commit, tip));
  const own = await keep(claims, isOwn);
  const gives = async (tips: readonly Oid[]) => {
    const merged = await mergeCommits(store, parent, ...tips);
    return merged !== null && hasSameCode(store, merged, commit);
  };
  let tips = await listNewestTips(store, await keep(own, ({ tip }) => gives([tip])));
  if (tips.length === 0) {
    tips = await listNewestTips(store, own);
    if (tips.length < 2 || !(await gives(tips))) return [];
    for (const tip of tips) if (await gives(tips.filter((other) => other !== tip))) return [];
  } else if (tips.length > 1) return [];
  return keep(own, async ({ tip }) => {
    for (const other of tips) if (tip === other || (await store.isAncestor(tip, other))) return true;
    return false;
  });
}

async function keep<One>(all: readonly One[], isKept: (one: One) => Promise<boolean>): Promise<One[]> {
  const kept = await Promise.all(all.map(isKept));
  return all.filter((_, at) => kept[at]);
}

/**
 * Finds the squash that landed each line in its current state, for lines that notes name; the squash is on one of the
 * line's base branches. Costs nothing without notes.
 */
export async function findNotedLines(
  repository: NotesSource,
  lines: readonly KnownLine[],
  starts: ReadonlyMap<SessionId, SessionStart>,
  listed: Tips,
): Promise<Map<RefName, Oid>> {
  const found = new Map<RefName, Oid>();
  const notes = listNotes([...listed].map(([ref, oid]) => ({ ref, oid })));
  const open = lines.filter(({ remote, isArchived, nearest }) => remote === null && !isArchived && nearest.entry.turn);
  if (notes.length === 0 || open.length === 0) return found;
  const claims = await readClaims(repository, notes);
  const named = open.filter(({ session }) => claims.has(session));
  const { usual, own } = await readBaseTips({ repository }, named, starts, listed);
  for (const line of named) {
    const bases = [...usual, ...(own.get(starts.get(line.session)?.branch ?? '') ?? [])];
    const squash = await findSquash(repository, { notes, claims }, line, bases);
    if (squash !== null) found.set(line.ref, squash);
  }
  return found;
}

/** Does the same for one line; `bases` are the tips of its base branches. Starts no git process to find the notes. */
export async function findNotedLine(
  repository: NotesSource & Pick<Repository, 'remotes'>,
  line: Landable,
  bases: readonly Oid[],
): Promise<Oid | null> {
  const refs = [notesRef, ...(await repository.remotes.names()).map(notesCopyRef)].filter(isRefName);
  const tips = await Promise.all(refs.map((ref) => repository.store.resolve(ref)));
  const notes = [...new Set(tips.filter((oid) => oid !== null))];
  if (notes.length === 0) return null;
  return findSquash(repository, { notes, claims: await readClaims(repository, notes) }, line, bases);
}

type Landable = Parameters<typeof isLandedUpTo>[1];

async function findSquash(
  repository: NotesSource,
  { notes, claims }: { notes: readonly Oid[]; claims: ReadonlyMap<SessionId, readonly Claim[]> },
  line: Landable,
  bases: readonly Oid[],
): Promise<Oid | null> {
  for (const { commit, tip } of claims.get(line.session)?.slice(0, maxSquashes) ?? []) {
    if (!(await isLandedUpTo({ repository }, line, tip)) || !(await isOnOneOf(repository, commit, bases))) continue;
    const proven = await findNotedLanding(repository, notes, commit);
    if (proven.some((one) => one.tip === tip)) return commit;
  }
  return null;
}

async function isOnOneOf({ store }: NotesSource, commit: Oid, bases: readonly Oid[]): Promise<boolean> {
  if ((await store.resolve(commit)) !== commit) return false;
  for (const base of bases) if (await store.isAncestor(commit, base)) return true;
  return false;
}

interface Claim extends LandedFrom {
  commit: Oid;
}

/** Lists what the notes claim, unproven, by session. Reads notes that have not moved only once. */
async function readClaims({ store, cache }: NotesSource, notes: readonly Oid[]): Promise<Map<SessionId, Claim[]>> {
  const key = notes.join();
  const rows = await readRows(cache, 'notes');
  let words = rows.find(([name]) => name === key)?.slice(1);
  if (words === undefined) {
    words = [];
    for (const tip of notes)
      for (const commit of (await unlessUnread(listNoted(store, tip), [])).slice(0, maxNotes)) {
        const text = await unlessUnread(readNote(store, tip, commit, maxBytes), null);
        words.push(commit, ...decodeLandings(text ?? '').map(toWord));
      }
    await writeRows(cache, 'notes', [[key, ...words]]);
  }
  const claims = new Map<SessionId, Claim[]>();
  let commit: Oid | null = null;
  for (const word of words)
    if (isOid(word)) commit = word;
    else
      for (const one of toLandings([word]))
        if (commit !== null) claims.set(one.session, [...(claims.get(one.session) ?? []), { ...one, commit }]);
  return claims;
}
