/** Finds the line that a command acts on: the named line, the line that HEAD is on, or the user's newest open session. */
import { agentNames } from '../../agents/agents.ts';
import { TeddyError } from '../../errors.ts';
import type { Head, Workspace } from '../../ports/git.ts';
import type { Notices, Project } from '../../ports/project.ts';
import {
  globalRef,
  isSessionId,
  mainLineRef,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import { findWayTo } from './way-to-line.ts';
import { findOpenLine } from './find-open.ts';
import { listArchives, resolveArchive } from '../../session/lines/archives.ts';
import { chooseMain, isLine, listLines, type KnownLine } from '../../session/lines/lines.ts';
import { isOnLine } from '../../session/entries/ancestry.ts';
import { findNearestEntry, type NearestEntry } from '../../session/entries/nearest-entry.ts';
import { toMainLines, type MainLine } from '../../session/lines/main-lines.ts';

export interface Line {
  /** `HEAD` when detached; in that case nothing can be appended. */
  ref: RefName;
  session: SessionId;
  /** Null while the line exists only on a remote; teddy still has to create `ref` at `remoteTip`. */
  tip: Oid | null;
  remoteTip: Oid | null;
  /** The work tree that has the line checked out, if any. */
  workspace: Workspace | null;
  /** `open` when HEAD is not on a line and the user named none. */
  found: 'head' | 'detached' | 'named' | 'open';
}

export interface FindOptions {
  /** True when the command changes the line: teddy asks the user when HEAD is not on a line, and refuses a detached HEAD. */
  appends?: boolean;
  /** True when the command makes its own branch, so that a detached HEAD is accepted. */
  forks?: boolean;
  /** True when the command refuses a line that is not checked out anywhere; in that case teddy does not ask the user. */
  needsFiles?: boolean;
  /** All lines, if the caller has just listed them. */
  lines?: readonly KnownLine[];
}

const detachedRef = 'HEAD' as RefName;

/**
 * Finds the line. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION for a selector; NO_OPEN_SESSION when there is none and HEAD
 * is not on a line; NOT_APPROVED when the user says no; NOT_ON_LINE when a command would append to a detached HEAD.
 */
export async function findLine(project: Project, selector?: string, options: FindOptions = {}): Promise<Line> {
  if (selector !== undefined) return openLine(project, await findNamedTip(project, selector), 'named');
  const head = await project.repository.workspace?.head();
  const line = await toHeadLine(project, head);
  if (line !== null) return line;
  const detached = await findDetached(project, head);
  if (detached === null) return findOpen(project, head, options);
  if (options.appends === true && options.forks !== true) throw await detachedError(project, detached);
  return detached.line;
}

/** Returns the line that HEAD of this work tree is on, or null. */
export async function findHeadLine(project: Project): Promise<Line | null> {
  return toHeadLine(project, await project.repository.workspace?.head());
}

async function toHeadLine(project: Project, head: Head | undefined): Promise<Line | null> {
  const { workspace } = project.repository;
  if (!workspace || !head?.ref || head.oid === null) return null;
  const session = await readSession(project, head.ref, head.oid);
  if (session === null) return null;
  return { ref: head.ref, session, tip: head.oid, remoteTip: null, workspace, found: 'head' };
}

/** Returns the session of the line at a branch; null when the branch is not a line. */
export async function readSession(project: Project, ref: RefName, tip: Oid): Promise<SessionId | null> {
  if (ref === globalRef) return null;
  const nearest = await findNearestEntry(project, tip, { mayLackFiles: parseLineRef(ref) !== null });
  if (nearest === null) return null;
  const { session } = nearest.entry;
  return (await isLine(project, { branchRef: ref, session, nearest })) ? session : null;
}

interface Detached {
  line: Line;
  nearest: NearestEntry;
}

/** Finds a HEAD that is detached at a session's commit. A bare repository never has one. */
async function findDetached(project: Project, head: Head | undefined): Promise<Detached | null> {
  const { workspace } = project.repository;
  if (!workspace || head === undefined || head.ref !== null || head.oid === null) return null;
  const nearest = await findNearestEntry(project, head.oid);
  if (nearest === null) return null;
  const { session } = nearest.entry;
  if (!(await isLine(project, { branchRef: detachedRef, session, nearest }))) return null;
  const line = { ref: detachedRef, session, tip: head.oid, remoteTip: null, workspace, found: 'detached' as const };
  return { line, nearest };
}

/** Returns a free branch name for continuing from an older entry. */
export async function findFreeBranch({ repository: { store } }: Project, session: SessionId): Promise<string> {
  const taken = new Set((await store.listRefs('refs/heads/')).map(({ ref }) => shortRef(ref)));
  const name = `${session.slice('20260124-'.length)}-again`;
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(free)) return free;
  }
}

/**
 * Finds the session's branch with its tip at the detached HEAD, and the work tree that has it checked out; null when
 * there is none.
 */
export async function findBranchAt(
  project: Project,
  { session, tip }: Pick<Line, 'session' | 'tip'>,
): Promise<Line | null> {
  const lines = await listLines(project);
  const here = lines.filter((one) => one.session === session && one.oid === tip && one.remote === null);
  const chosen = chooseMain(here);
  return chosen === undefined ? null : openLine(project, chosen, 'named');
}

async function detachedError(project: Project, { line, nearest: { entry, oid } }: Detached): Promise<TeddyError> {
  const there = await findBranchAt(project, line);
  const way =
    there === null
      ? `Create one here: \`git switch -c ${await findFreeBranch(project, line.session)}\``
      : `${there.workspace === null ? 'Switch' : 'Go'} to its branch: \`${await findWayTo(project, there)}\``;
  const branch =
    entry.turn === null ? '' : `, or branch off at turn ${entry.turn} for another try: \`teddy branch ${entry.turn}\``;
  return new TeddyError(
    'NOT_ON_LINE',
    `HEAD is detached at ${oid.slice(0, 12)}, an entry in ${line.session}, but this command needs a branch.`,
    `${way}${branch}.`,
  );
}

/** A command may look for its line several times, but asks about it or reports it only once. */
const chosenBefore = new WeakMap<Notices, Set<RefName>>();

function isFirstTime(notices: Notices, ref: RefName): boolean {
  const chosen = chosenBefore.get(notices) ?? new Set();
  const isFirst = !chosen.has(ref);
  chosenBefore.set(notices, chosen.add(ref));
  return isFirst;
}

async function findOpen(
  project: Project,
  head: Head | undefined,
  { appends = false, needsFiles = false, lines }: FindOptions,
): Promise<Line> {
  const line = await openLine(project, await findOpenLine(project, lines), 'open', head);
  const place = head?.ref == null ? 'HEAD is on no branch' : `You are on ${shortRef(head.ref)}`;
  const named = nameWithPlace(project, line);
  const { confirm, info } = project.notices;
  if (!isFirstTime(project.notices, line.ref)) return line;
  if (!appends) info(`Using ${named}, the newest open session. ${place}.`);
  else if (confirm === undefined || (needsFiles && line.workspace === null))
    info(`Using ${named}, the newest open session. ${place}. To use another one: \`-s\`.`);
  else if (!(await confirm(`${place}. Continue with ${named}?`)))
    throw new TeddyError(
      'NOT_APPROVED',
      'Nothing was done.',
      'Name a session with `-s` (`teddy list` shows them), or start one: `teddy new <name>`.',
    );
  return line;
}

/**
 * Finds a line by session ID, branch, path to a session directory, the name after the date, or a unique part of a
 * session ID.
 */
export async function findNamedTip(project: Project, selector: string, known?: readonly KnownLine[]): Promise<LineTip> {
  const found = await findNamed(project, selector, known);
  if (found.remote !== null) await refuseOlder(project, found);
  return found;
}

async function findNamed(project: Project, typed: string, known?: readonly KnownLine[]): Promise<LineTip> {
  // A file system may return a decomposed name; session names are composed.
  const selector = typed.normalize('NFC');
  const { store } = project.repository;
  // A branch's full name is unambiguous, so there is no need to list the sessions.
  const whole = typed.startsWith('refs/heads/') ? await findBranch(project, typed, known) : null;
  if (whole !== null) return whole;
  const lines = known ?? (await listLines(project));
  const sessions = toMainLines(lines, project.clock.now());
  const named = selector.replace(/\/+$/, '').split('/').at(-1) ?? '';
  const inDirectory = /(?:^|\/)\.teddy\/sessions\/[^/]+\/?$/.test(selector) && isSessionId(named) ? named : null;
  if (inDirectory !== null) {
    const head = await findHeadLine(project);
    if (head?.session === inDirectory && head.tip !== null)
      return { ...head, branchRef: head.ref, oid: head.tip, remote: null };
  }
  const exact = sessions.find(({ session }) => session === selector || session === inDirectory);
  if (exact) return exact;
  const branch = (await findBranch(project, typed, lines)) ?? (await findBranch(project, selector, lines));
  if (branch !== null) return branch;
  // Its ID may be a part of another session's ID.
  const id = selector.replace(/^(?:refs\/heads\/)?teddy\//, '');
  if (isSessionId(id) && (await resolveArchive(store, mainLineRef(id))) !== null) throw archivedError(id);
  const namesakes = sessions.filter(({ session }) => session.slice('20260124-'.length) === selector);
  const archived = namesakes.length > 0 ? null : await findArchivedName(project, selector);
  if (archived !== null) throw archivedError(archived);
  const parts = selector === '' ? [] : sessions.filter(({ session }) => session.includes(selector));
  const matching = namesakes.length > 0 ? namesakes : parts;
  if (matching.length === 1 && matching[0]) return matching[0];
  const newest = matching.at(-1);
  if (newest !== undefined && haveSameStem(matching.map(({ session }) => session))) {
    const said = `Using ${newest.session}, the newest of ${matching.length} sessions with this name.`;
    if (isFirstTime(project.notices, newest.ref)) project.notices.info(said);
    return newest;
  }
  const similar = matching.length > 0 || selector === '' ? null : findSimilarBranch(lines, selector);
  if (similar !== null) return similar;
  throw matching.length > 1
    ? ambiguousError(selector, matching, { areNamesakes: namesakes.length > 0 })
    : unknownError(selector, sessions);
}

/**
 * Returns true if all sessions are captured and have the same name apart from a number; making room for the number may
 * have shortened the name.
 */
function haveSameStem(sessions: readonly SessionId[]): boolean {
  const names = sessions.map((session) => session.slice('20260124-'.length));
  const stems = names.map((name) => name.replace(/-\d+$/, ''));
  const whole = stems.reduce((longest, stem) => (stem.length > longest.length ? stem : longest));
  const isCaptured = agentNames.some((agent) => `${whole}-`.startsWith(`${agent}-`));
  return isCaptured && stems.every((stem, at) => stem === whole || (stem !== names[at] && whole.startsWith(stem)));
}

/** Finds an archived session with exactly this name, which wins over a part of another session's ID. */
async function findArchivedName({ repository: { store } }: Project, name: string): Promise<SessionId | null> {
  const kept = (await listArchives(store)).map(({ session }) => session);
  return kept.findLast((session) => session.slice('20260124-'.length) === name) ?? null;
}

/** Finds a local branch by its short or full name, otherwise a remote's branch. */
async function findBranch(project: Project, selector: string, lines?: readonly KnownLine[]): Promise<LineTip | null> {
  const ref = (selector.startsWith('refs/heads/') ? selector : `refs/heads/${selector}`) as RefName;
  if (!isRefLike(ref)) return null;
  const oid = await project.repository.store.resolve(ref);
  const session = oid === null ? null : await readSession(project, ref, oid);
  if (oid !== null && session !== null) return { ref, branchRef: ref, oid, session, remote: null };
  if (oid !== null) return null;
  const known = lines ?? (await listLines(project));
  return known.find(({ branchRef, remote }) => branchRef === ref && remote !== null) ?? null;
}

function isRefLike(ref: string): boolean {
  return !/[\s~^:?*[\\\p{Cc}]|\.\.|@\{|\/\/|\.lock$|\/$/u.test(ref);
}

/** Returns the branch of the only line with a name that contains the selector; a line may have been renamed. */
function findSimilarBranch(lines: readonly KnownLine[], selector: string): LineTip | null {
  const similar = lines.filter(({ branchRef }) => shortRef(branchRef).includes(selector));
  const names = new Set(similar.map(({ branchRef }) => branchRef));
  // A local branch comes before the remote's branch of the same name.
  return names.size === 1 ? (similar[0] ?? null) : null;
}

type LineTip = Pick<KnownLine, 'ref' | 'branchRef' | 'oid' | 'session' | 'remote'>;

async function openLine(project: Project, at: LineTip, found: Line['found'], head?: Head): Promise<Line> {
  const isRemote = at.remote !== null;
  return {
    ref: at.branchRef,
    session: at.session,
    tip: isRemote ? null : at.oid,
    remoteTip: isRemote ? at.oid : null,
    workspace: await findWorkspace(project, at.branchRef, head),
    found,
  };
}

/** Refuses a remote's branch when continuing from it would omit locally archived turns. */
async function refuseOlder({ repository: { store } }: Project, { branchRef, session, oid }: LineTip): Promise<void> {
  const kept = parseLineRef(branchRef) === null ? null : await resolveArchive(store, branchRef);
  if (kept !== null && !(await isOnLine(store, oid, kept))) throw archivedError(session);
}

/** Finds the work tree with the branch's files and index; a branch is checked out in at most one. */
async function findWorkspace(project: Project, ref: RefName, head?: Head): Promise<Workspace | null> {
  const { repository } = project;
  const { workspace } = repository;
  if (workspace && (head ?? (await workspace.head())).ref === ref) return workspace;
  const holder = (await repository.workTrees()).find((tree) => tree.ref === ref);
  return holder ? repository.openWorkspace(holder.root) : null;
}

export class AmbiguousSessionError extends TeddyError {
  readonly selector: string;
  readonly newest: SessionId;

  constructor(selector: string, message: string, newest: SessionId) {
    super('AMBIGUOUS_SESSION', message, `The newest is ${newest}: \`teddy show -s ${newest}\`.`);
    this.selector = selector;
    this.newest = newest;
  }
}

/** Returns the error; `matching` is in creation order. */
export function ambiguousError(
  selector: string,
  matching: readonly Pick<MainLine, 'session'>[],
  { areNamesakes }: { areNamesakes: boolean },
): AmbiguousSessionError {
  const sessions = matching.map(({ session }) => session);
  const some = sessions.slice(0, 5).join(', ') + (sessions.length > 5 ? ` and ${sessions.length - 5} more` : '');
  const what = areNamesakes ? 'the name' : 'part of the id';
  const message = `${JSON.stringify(selector)} is ${what} of ${sessions.length} sessions: ${some}.`;
  return new AmbiguousSessionError(selector, message, sessions.at(-1) as SessionId);
}

function unknownError(selector: string, sessions: { session: SessionId }[]): TeddyError {
  const newest = sessions.slice(-3).toReversed();
  return new TeddyError(
    'UNKNOWN_SESSION',
    `No session or branch is called ${JSON.stringify(selector)}.`,
    newest.length === 0
      ? 'Start one: `teddy new <name>`.'
      : `The newest sessions: ${newest.map(({ session }) => session).join(', ')}. To see all: \`teddy list\`.`,
  );
}

function archivedError(session: SessionId): TeddyError {
  return new TeddyError(
    'UNKNOWN_SESSION',
    `${session} is archived and has no branch.`,
    `Restore it: \`teddy archive --restore ${session}\`.`,
  );
}

/** Names a line for the user's next command; undefined when HEAD is on it and no name is needed. */
export function toSelector(
  { repository }: Project,
  { ref, workspace }: Pick<Line, 'ref' | 'workspace'>,
): string | undefined {
  return workspace !== null && workspace === repository.workspace ? undefined : shortRef(ref);
}

/**
 * `20260124-foo (mine), in /other/tree`: adds the branch when its name differs, and the work tree when it is not the
 * current one.
 */
export function nameWithPlace(
  { repository }: Project,
  { ref, session, workspace }: Pick<Line, 'ref' | 'session' | 'workspace'>,
): string {
  const where = workspace !== null && workspace !== repository.workspace ? `, in ${workspace.root}` : '';
  return `${session}${ref === mainLineRef(session) ? '' : ` (${shortRef(ref)})`}${where}`;
}

export function lineName(line: Pick<Line, 'ref'>): string {
  return shortRef(line.ref);
}
