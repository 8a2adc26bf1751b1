/** Which line a command means: the one that HEAD is on, the one that was named, or the newest session. */
import { TeddyError } from '../errors.ts';
import type { Project, RefTip, Workspace } from '../ports.ts';
import { decodeEntry } from '../session/entry.ts';
import {
  archivePrefix,
  archiveRef,
  globalRef,
  isSessionId,
  mainLineRef,
  parseArchiveRef,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type SessionId,
} from '../session/names.ts';
import { listMainLines } from './list-main-lines.ts';
import { nameSome } from './name-some.ts';

export interface Line {
  ref: RefName;
  session: SessionId;
  /** Null while the line exists only on a remote: `ref` is then still to be made, at `remoteTip`. */
  tip: Oid | null;
  remoteTip: Oid | null;
  /** The work tree whose HEAD is on the line, if any. */
  workspace: Workspace | null;
  found: 'head' | 'named' | 'newest';
}

/** Without a selector: the line of HEAD, else the newest session. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION. */
export async function findLine(project: Project, selector?: string): Promise<Line> {
  if (selector !== undefined) return findNamedLine(project, selector);
  return (await findHeadLine(project)) ?? (await findNewestLine(project));
}

/** The line that HEAD of this work tree is on, or null. */
export async function findHeadLine(project: Project): Promise<Line | null> {
  const { workspace } = project.repository;
  const head = await workspace?.head();
  if (!workspace || !head?.ref || head.oid === null) return null;
  const session = await readSession(project, head.ref, head.oid);
  if (session === null) return null;
  return { ref: head.ref, session, tip: head.oid, remoteTip: null, workspace, found: 'head' };
}

/** A branch may be named like a line and hold no entry: then it is the user's. */
export async function readSession(project: Project, ref: RefName, tip: Oid): Promise<SessionId | null> {
  const named = parseLineRef(ref)?.session;
  if (named === undefined) return readLineSession(project, ref, tip);
  for await (const { commit } of project.repository.store.firstParents(tip)) {
    if (decodeEntry(commit.message) !== null) return named;
  }
  return null;
}

/**
 * The session of a branch that is a line without being named like one, such as `git checkout -b try-again teddy/x~3`.
 * The default branch and the branch that the session started from never are, even after the session was merged there.
 */
async function readLineSession(project: Project, ref: RefName, tip: Oid): Promise<SessionId | null> {
  const { store } = project.repository;
  const others = await readDefaultBranches(project);
  if (others.some((other) => other.ref === ref)) return null;
  const excluded = others.map(({ oid }) => oid);
  for await (const { oid, commit } of store.firstParents(tip, excluded)) {
    const entry = decodeEntry(commit.message);
    if (entry === null) continue;
    return (await isOnBaseBranch(project, ref, oid, entry.session)) ? null : entry.session;
  }
  return null;
}

/** The remote's and the local ones, which may be ahead of it; and `teddy/global`, whose memos are entries as well. */
export async function readDefaultBranches(project: Project): Promise<RefTip[]> {
  const { store } = project.repository;
  const configured = await store.setting('init.defaultBranch');
  const names = new Set([configured ?? 'main', 'main', 'master'].map((name) => `refs/heads/${name}`));
  const refs = ['refs/remotes/origin/HEAD', ...names, globalRef] as RefName[];
  const tips = await Promise.all(refs.map(async (ref) => ({ ref, oid: await store.resolve(ref) })));
  return tips.flatMap(({ ref, oid }) => (oid === null ? [] : [{ ref, oid }]));
}

async function isOnBaseBranch(project: Project, ref: RefName, entry: Oid, session: SessionId): Promise<boolean> {
  const { store } = project.repository;
  // A squash merge leaves no `start` below it; the session's own line still has one.
  const branch = (await readBaseBranch(project, entry)) ?? (await readBaseBranch(project, mainLineRef(session)));
  if (branch === null) return false;
  const base = `refs/heads/${branch}` as RefName;
  if (base === ref) return true;
  // Another line may be the base of a session; its own entries are then not "merged" but its own.
  const tip = parseLineRef(base) === null ? await store.resolve(base) : null;
  return tip !== null && (await store.isAncestor(entry, tip));
}

export async function readBaseBranch(project: Project, from: Oid | RefName): Promise<string | null> {
  const { store } = project.repository;
  const tip = await store.resolve(from);
  if (tip === null) return null;
  for await (const { commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'start') return entry.baseBranch ?? null;
  }
  return null;
}

async function findNewestLine(project: Project): Promise<Line> {
  const newest = (await listMainLines(project)).toSorted((a, b) => (a.created < b.created ? 1 : -1))[0];
  if (!newest) throw await toNone(project);
  return openLine(project, newest.session, newest, 'newest');
}

/** Of a session may be left what is archived, or a conversation branch. */
async function toNone({ repository: { store } }: Project): Promise<TeddyError> {
  const start = 'Start one: `teddy session new <name>`.';
  const tips = await store.listRefs('refs/heads/teddy/', archivePrefix);
  const kept = [...new Set(tips.flatMap(({ ref }) => parseArchiveRef(ref)?.session ?? []))];
  const branches = tips.flatMap(({ ref }) => (parseLineRef(ref)?.branch == null ? [] : [shortRef(ref)]));
  if (branches.length > 0)
    return new TeddyError(
      'UNKNOWN_SESSION',
      `No session has its main line here; there are conversation branches: ${nameSome(branches)}.`,
      `Name one of them, or start a session: \`teddy session new <name>\`.`,
    );
  if (kept.length === 0) return new TeddyError('UNKNOWN_SESSION', 'There is no session in this repository yet.', start);
  return new TeddyError(
    'UNKNOWN_SESSION',
    `All sessions of this repository are archived: ${nameSome(kept)}.`,
    `Name one of them to look at it; \`teddy session archive --restore <session>\` brings it back. ${start}`,
  );
}

/** A session id, a branch, a path to a session directory, or a unique part of a session id. */
async function findNamedLine(project: Project, selector: string): Promise<Line> {
  const { store } = project.repository;
  const sessions = await listMainLines(project);
  const named = selector.replace(/\/+$/, '').split('/').at(-1) ?? '';
  const inDirectory = /(?:^|\/)\.teddy\/sessions\/[^/]+\/?$/.test(selector) && isSessionId(named) ? named : null;
  if (inDirectory !== null) {
    const head = await findHeadLine(project);
    if (head?.session === inDirectory) return { ...head, found: 'named' };
  }
  const exact = sessions.find(({ session }) => session === selector || session === inDirectory);
  if (exact) return openLine(project, exact.session, exact, 'named');

  const ref = (selector.startsWith('refs/heads/') ? selector : `refs/heads/${selector}`) as RefName;
  const tip = isRefLike(ref) ? await store.resolve(ref) : null;
  if (tip !== null) {
    const session = await readSession(project, ref, tip);
    if (session !== null) return openLine(project, session, { ref, oid: tip, remote: null }, 'named');
  }
  // Its id may be a part of another one's.
  if (isSessionId(selector) && (await store.resolve(archiveRef(mainLineRef(selector)))) !== null)
    throw toArchived(selector);
  const matching = selector === '' ? [] : sessions.filter(({ session }) => session.includes(selector));
  if (matching.length === 1 && matching[0]) return openLine(project, matching[0].session, matching[0], 'named');
  throw matching.length > 1
    ? toAmbiguous(
        selector,
        matching.map((found) => found.session),
      )
    : toUnknown(selector, sessions);
}

function isRefLike(ref: string): boolean {
  return !/[\s~^:?*[\\\p{Cc}]|\.\.|@\{|\/\/|\.lock$|\/$/u.test(ref);
}

async function openLine(
  project: Project,
  session: SessionId,
  at: RefTip & { remote: string | null },
  found: Line['found'],
): Promise<Line> {
  const isRemote = at.remote !== null;
  const ref = isRemote ? mainLineRef(session) : at.ref;
  return {
    ref,
    session,
    tip: isRemote ? null : at.oid,
    remoteTip: isRemote ? at.oid : null,
    workspace: await findWorkspace(project, ref),
    found,
  };
}

/** A branch is checked out in one work tree at most; that is where its files and index are. */
async function findWorkspace(project: Project, ref: RefName): Promise<Workspace | null> {
  const { repository } = project;
  const { workspace } = repository;
  if (workspace && (await workspace.head()).ref === ref) return workspace;
  const holder = (await repository.workTrees()).find((tree) => tree.ref === ref);
  return holder ? repository.openWorkspace(holder.root) : null;
}

function toAmbiguous(selector: string, sessions: SessionId[]): TeddyError {
  const some = sessions.slice(0, 5).join(', ') + (sessions.length > 5 ? ', ...' : '');
  return new TeddyError(
    'AMBIGUOUS_SESSION',
    `${JSON.stringify(selector)} is part of ${sessions.length} sessions: ${some}.`,
    'Give the whole id.',
  );
}

function toUnknown(selector: string, sessions: { session: SessionId }[]): TeddyError {
  const some = sessions
    .slice(-3)
    .map(({ session }) => session)
    .join(', ');
  return new TeddyError(
    'UNKNOWN_SESSION',
    `No session or line is called ${JSON.stringify(selector)}.`,
    some === '' ? 'Start one: `teddy session new <name>`.' : `There is ${some}; \`teddy session list\` shows all.`,
  );
}

function toArchived(session: SessionId): TeddyError {
  return new TeddyError(
    'UNKNOWN_SESSION',
    `${session} is archived, and has no branch.`,
    `Bring it back: \`teddy session archive --restore ${session}\`.`,
  );
}

export function lineName(line: Pick<Line, 'ref'>): string {
  return shortRef(line.ref);
}
