/**
 * Judges the lines in quarantine before any local ref moves: their names, the commits below them, and each of their
 * entries.
 */
import { isDamage, TeddyError } from '../../errors.ts';
import type { FetchedLine, Project } from '../../ports/project.ts';
import {
  archivePrefix,
  globalRef,
  parseArchiveRef,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type SessionId,
  type RepoPath,
} from '../../names.ts';
import type { Violation } from '../../session/entries/violation.ts';
import { findTopViolations, surveyLine, type Survey, tooManyPaths } from './survey-line.ts';
import { groupBy } from '../../session/text/group-by.ts';
import type { CommitChange, Store } from '../../ports/git.ts';
import { isAgentName } from '../../session/global/global-files.ts';
import { toText } from '../../view/view.ts';
import { changeCounter } from './shared-line.ts';

export interface IncomingRef {
  ref: RefName;
  tip: Oid;
  /** The local ref's tip; null when this repository does not have the ref yet. */
  local: Oid | null;
  /** The local session that owns a custom-named line. */
  session?: SessionId | null;
}

export interface RefusedRef {
  ref: RefName;
  /** The reason, for display; it quotes the remote's text unchanged. */
  reason: string;
  violations: Violation[];
  /** True when a local session has the same name but another start, and there is no other problem. */
  isNamesake?: true;
  /** True when one of the line's objects is missing from this clone, or damaged. */
  isUnread?: true;
}

export interface CheckedIncoming {
  accepted: RefName[];
  refused: RefusedRef[];
}

export interface IncomingOptions {
  signal?: AbortSignal;
  /** Reports the number of refs judged so far. */
  onProgress?(done: number, total: number): void;
}

/** Forges also accept files of this size. */
const maxIncomingFileBytes = 100 * 1024 * 1024;

interface Judge {
  project: Project;
  options: IncomingOptions;
  /** Each session's local tips. */
  known: Map<SessionId, Oid[]>;
  /** The ID of each session's start entry: the local session's, or that of the first accepted line. */
  starts: Map<SessionId, string | null>;
}

interface NamedRef extends IncomingRef {
  session: SessionId | null;
  isBranch: boolean;
}

type Verdict = Omit<RefusedRef, 'ref'> | null;

/**
 * Judges the refs in the order of their arrival. A secret in a line is only a notice: it has leaked already, and anyone
 * who reads the line should know. Throws INTERRUPTED, and errors that say nothing about the lines, such as BAD_SETTING.
 */
export async function checkIncoming(
  project: Project,
  incoming: readonly IncomingRef[],
  options: IncomingOptions = {},
): Promise<CheckedIncoming> {
  const verdicts = new Map<RefName, Verdict>();
  const { named, judge } = await openJudge(project, incoming, options, verdicts);
  for (const [at, one] of named.entries()) {
    if (options.signal?.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted.', 'Nothing was changed.');
    verdicts.set(one.ref, await judgeRef(judge, one));
    options.onProgress?.(at + 1, named.length);
  }
  const refs = [...new Set(incoming.map(({ ref }) => ref))];
  return {
    accepted: refs.filter((ref) => verdicts.get(ref) === null),
    refused: refs.flatMap((ref) => {
      const verdict = verdicts.get(ref) ?? null;
      return verdict === null ? [] : [{ ref, ...verdict }];
    }),
  };
}

/** Explains why teddy refuses a remote-only line; null when the line passes. Throws as `checkIncoming` does. */
export async function judgeFetched(project: Project, line: FetchedLine): Promise<string | null> {
  const { refused } = await checkIncoming(project, [{ ...line, local: null }]);
  return refused[0]?.reason ?? null;
}

/** Sorts main lines first, because a main line's start is its session's start. */
async function openJudge(
  project: Project,
  incoming: readonly IncomingRef[],
  options: IncomingOptions,
  verdicts: Map<RefName, Verdict>,
): Promise<{ named: NamedRef[]; judge: Judge }> {
  const here = await project.repository.store.listRefs('refs/heads/', archivePrefix);
  const byFold = groupByName(here.map(({ ref }) => ref));
  const named: NamedRef[] = [];
  for (const one of incoming) {
    const name = readIncomingName(one.ref, byFold(one.ref), one.session ?? null);
    if (typeof name === 'string') verdicts.set(one.ref, { reason: name, violations: [] });
    else named.push({ ...one, ...name });
  }
  const known = new Map<SessionId, Oid[]>();
  for (const { ref, oid } of here) {
    const session = (parseLineRef(ref) ?? parseArchiveRef(ref))?.session;
    if (session !== undefined) known.set(session, [...(known.get(session) ?? []), oid]);
  }
  for (const { session, local } of named)
    if (session !== null && local !== null) known.set(session, [...(known.get(session) ?? []), local]);
  named.sort((a, b) => Number(a.isBranch) - Number(b.isBranch));
  return { named, judge: { project, options, known, starts: new Map() } };
}

/** Groups the refs that could be in a ref's way, because there may be tens of thousands of both. */
function groupByName(refs: readonly string[]): (ref: string) => string[] {
  const toKey = (ref: string) => ref.toLowerCase().split('/').slice(0, 4).join('/');
  const groups = groupBy(refs, toKey);
  return (ref) => [...(groups.get(toKey(ref)) ?? []), ...(groups.get('refs/heads/teddy') ?? [])];
}

/** A concurrent `git gc` can hide an object for a moment. The line is not at fault, so teddy looks for the object again. */
const looksAgainAfterMs = [0, 100, 300];

async function judgeRef(judge: Judge, one: NamedRef): Promise<Verdict> {
  let verdict = await judgeOnce(judge, one);
  for (const waitMs of looksAgainAfterMs) {
    if (!isAboutObjects(verdict)) return verdict;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    verdict = await judgeOnce(judge, one);
  }
  return verdict !== null && isAboutObjects(verdict) ? { ...verdict, isUnread: true } : verdict;
}

function isAboutObjects(verdict: Verdict): boolean {
  return verdict?.isUnread === true || (verdict?.violations ?? []).some(({ rule }) => rule === 'objects');
}

async function judgeOnce(judge: Judge, one: NamedRef): Promise<Verdict> {
  const { session } = one;
  try {
    await judge.project.repository.store.readCommit(one.tip);
    if (session === null) return await checkIncomingGlobal(judge.project, one.tip, one.local);
    return await judgeLine(judge, { ...one, session });
  } catch (error) {
    // V8 throws a RangeError for a text that is too long, or nested too deeply for its stack. Only this line is
    // affected.
    if (!isDamage(error) && !(error instanceof RangeError)) throw error;
    return { reason: `it cannot be read: ${error.message}`, violations: [], isUnread: true };
  }
}

async function judgeLine(judge: Judge, one: NamedRef & { session: SessionId }): Promise<Verdict> {
  const { store } = judge.project.repository;
  const known = judge.known.get(one.session) ?? [];
  const survey = await surveyLine(store, one, known);
  if (typeof survey === 'string') return { reason: survey, violations: [] };
  const forged = await findForgedStart(judge, one.session, survey, known);
  if (forged !== null) return { reason: forged, violations: [], ...(known.length > 0 ? { isNamesake: true } : {}) };
  const violations = [...(await findTopViolations(store, one.tip)), ...(await verify(judge, one, known))];
  const grave = violations.filter(({ rule }) => rule !== 'secret');
  if (grave.length > 0) return { reason: describe(grave), violations: grave };
  const [secret] = violations;
  if (secret !== undefined)
    judge.project.notices.warn(
      `${shortRef(one.ref)} on the remote contains a secret, in ${secret.path ?? 'a commit'} at ${secret.commit.slice(0, 12)}. Its owner should revoke it.`,
    );
  return null;
}

/** Finds another session that uses a local session's name. */
async function findForgedStart(
  { project, starts }: Judge,
  session: SessionId,
  { startId }: Survey,
  known: readonly Oid[],
): Promise<string | null> {
  // The line continues a local one.
  if (startId === null) return null;
  if (!starts.has(session)) starts.set(session, await readStartId(project, session, known));
  const own = starts.get(session) ?? null;
  if (own === null) starts.set(session, startId);
  return own === null || own === startId ? null : 'it is a different session with the same name';
}

async function readStartId(project: Project, session: SessionId, known: readonly Oid[]): Promise<string | null> {
  const { decodeEntry } = await import('../../session/entries/entry.ts');
  const { store } = project.repository;
  for (const tip of known) {
    const found = await store.findReachable('Teddy-Entry: start', tip, []);
    for (const oid of found.toReversed()) {
      const entry = decodeEntry((await store.readCommit(oid)).message);
      if (entry?.kind === 'start' && entry.session === session) return entry.id;
    }
  }
  return null;
}

async function verify(
  { project, options: { signal } }: Judge,
  { ref, session, tip }: NamedRef & { session: SessionId },
  known: readonly Oid[],
): Promise<Violation[]> {
  const { verifyLine } = await import('../verify/line.ts');
  const line = { session, name: shortRef(ref), ref, tip, after: null };
  const options = { known, maxFileBytes: maxIncomingFileBytes, ...(signal === undefined ? {} : { signal }) };
  return (await verifyLine(project, line, options)).violations;
}

function describe(violations: readonly Violation[]): string {
  const [first] = violations;
  const place = [first?.commit.slice(0, 12), ...(first?.path == null ? [] : [first.path])].join(', ');
  const more = violations.length === 1 ? '' : ` (and ${violations.length - 1} more)`;
  return `${place}: ${first?.message ?? ''}${more}`;
}

/** Fits a name of 64 characters with its date, a number at its end, and a conversation branch, with room to spare. */
const maxNameLength = 160;
/** A longer number is not a turn. */
const maxDigits = 9;

export interface IncomingName {
  /** Null for `teddy/global`. */
  session: SessionId | null;
  /** True for a conversation branch, which teddy judges after the main line. */
  isBranch: boolean;
}

/**
 * Returns a string that explains why teddy refuses the name. `taken` lists the local refs; `session` is the session of
 * a local line with this name in any form.
 */
export function readIncomingName(
  ref: RefName,
  taken: Iterable<string>,
  session: SessionId | null = null,
): IncomingName | string {
  if (ref.length > maxNameLength) return 'its name is too long';
  const line = parseLineRef(ref) ?? parseArchiveRef(ref);
  if (line === null && ref !== globalRef && session === null) return 'its name is not a valid session name';
  if ((line?.branch ?? '').split(/\D+/).some((digits) => digits.length > maxDigits)) return 'its turn is not a number';
  const collision = findCollision(ref, taken);
  if (collision !== null) return `${collision} is in the way`;
  return { session: line?.session ?? session, isBranch: line?.branch != null };
}

/** Finds a ref that git cannot store next to this one, either in general or on a case-insensitive disk. */
function findCollision(ref: RefName, taken: Iterable<string>): string | null {
  for (const other of taken) {
    const folded = other.toLowerCase();
    if (other === ref) continue;
    if (folded === ref || folded.startsWith(`${ref}/`) || ref.startsWith(`${folded}/`)) return other;
  }
  return null;
}

/** Every request includes the files, and nobody writes a larger file by hand. */
const maxFileBytes = 1024 * 1024;
const maxAgents = 1000;
const maxCommits = 100_000;

type Found = { reason: string; violations: Violation[] };

/** Returns null when teddy accepts the branch. `local` is the local tip, which needs no new check. */
async function checkIncomingGlobal(project: Project, tip: Oid, local: Oid | null): Promise<Found | null> {
  const { store } = project.repository;
  const violations: Violation[] = [];
  const blame = (commit: Oid, path: RepoPath, message: string) =>
    void violations.push({ rule: 'path', commit, turn: null, path, message });
  const counter = changeCounter(store);
  for await (const { commit } of store.firstParents(tip, local === null ? [] : [local]))
    if (!(await counter.add(commit))) return { reason: tooManyPaths, violations: [] };
  let count = 0;
  for await (const { oid, changes } of store.walkChanges(tip, local === null ? [] : [local])) {
    count += 1;
    if (count > maxCommits) return { reason: `it has more than ${maxCommits} commits`, violations: [] };
    for (const change of changes) {
      const message = await whyBad(store, change);
      if (message !== null) blame(oid, change.path, message);
    }
    if (violations.length > 0) break;
  }
  if (violations.length === 0) await checkTip(store, tip, blame);
  const [first] = violations;
  if (first === undefined) return null;
  return { reason: `${first.commit.slice(0, 12)}, ${first.path}: ${first.message}`, violations };
}

async function whyBad(store: Store, { path, mode, after }: CommitChange): Promise<string | null> {
  if (after === null) return null;
  if (!isGlobalPath(path)) return 'teddy/global has no such file.';
  if (mode !== '100644') return 'It is not a plain file.';
  const sizeBytes = await store.readSize(after);
  if (sizeBytes === null) return `The object ${after} is missing.`;
  return sizeBytes > maxFileBytes ? `The file has ${sizeBytes} bytes; at most ${maxFileBytes} are allowed.` : null;
}

/** A README.md next to the agents is not an agent, and is harmless. */
function isGlobalPath(path: string): boolean {
  if (path === 'memos.yaml' || path === 'global.context') return true;
  const agent = /^agents\/([^/]+)\.md$/.exec(path)?.[1];
  return agent !== undefined && (isAgentName(agent) || agent === 'README');
}

/** Checks the whole tree, including files older than the first new commit. */
async function checkTip(
  store: Store,
  tip: Oid,
  blame: (commit: Oid, path: RepoPath, message: string) => void,
): Promise<void> {
  const root = (await store.readDir(tip, '' as RepoPath))?.entries ?? [];
  const agents = (await store.readDir(tip, 'agents' as RepoPath))?.entries ?? [];
  if (agents.length > maxAgents) blame(tip, 'agents' as RepoPath, `There are more than ${maxAgents} agents.`);
  for (const { name } of root)
    if (name !== 'agents' && !isGlobalPath(name)) blame(tip, name as RepoPath, 'teddy/global has no such file.');
  const memos = await store.readFile(tip, 'memos.yaml' as RepoPath);
  if (memos === null) return;
  const { parseMemos } = await import('../../session/global/memos.ts');
  try {
    parseMemos(toText(memos.bytes));
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    blame(tip, 'memos.yaml' as RepoPath, `It cannot be read: ${error.message}`);
  }
}
