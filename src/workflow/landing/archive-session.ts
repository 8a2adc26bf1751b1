/**
 * Archives or restores a session's branches: archiving deletes the branches, and `refs/teddy/archive/` keeps all their
 * commits.
 */
import { TeddyError } from '../../errors.ts';
import type { LinkedWorkTree, RefTip, RefUpdate, Repository, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isOver } from '../../write/write.ts';
import {
  mainLineRef,
  parseArchiveRef,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import { listArchives, planArchive, resolveArchive } from '../../session/lines/archives.ts';
import { toArchiveCommand } from '../line/way-to-line.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { repair } from '../line/repair.ts';
import { findFreeBranch, findHeadLine } from '../line/find.ts';
import {
  chooseMain,
  listLines,
  readBaseBranch,
  type KnownLine,
  readDefaultBranches,
} from '../../session/lines/lines.ts';
import { findCommit } from '../line/find-committed.ts';
import { hasLandedAsItStands } from '../line/find-open.ts';
import { readEnd } from '../line/read-end.ts';
import { recoverAnswers } from '../line/recover-answer.ts';
import { findRecorded } from '../line/find-recorded.ts';
import { checkUnfinishedRuns, refuseRunsIn } from '../line/unfinished-run.ts';
import { moveRefs } from '../line/move-refs.ts';

/** A branch, the ref that now keeps its commits, and its tip. */
interface ArchivedLine {
  line: RefName;
  archive: RefName;
  tip: Oid;
  /** True when this repository's refs show that the line was landed or merged. */
  hasLanded: boolean;
}

export interface ArchivedSession {
  session: SessionId;
  /** Empty when the session was already archived. */
  lines: ArchivedLine[];
  /** The session's custom-named lines, left for the user to delete. */
  kept: RefName[];
  /** The branch that this work tree was switched to because one of the lines was checked out in it. */
  switchedTo: string | null;
  /** Roots of the linked work trees that teddy created for the lines. */
  workTrees: string[];
}

/** The number of times that others may move a branch in between. */
const maxAttempts = 5;

/**
 * Archives all of the session's local branches, or none. If this work tree is on one of them, switches it to the
 * session's base branch. Throws USAGE without a name when HEAD is not on a line, UNKNOWN_SESSION, LINE_CHECKED_OUT,
 * OPERATION_IN_PROGRESS, BRANCH_IN_THE_WAY when an archive with that name has other commits, RUN_INTERRUPTED,
 * WRITE_ACTIVE, LOCKED or REF_MOVED.
 */
export async function archiveSession(project: Project, target?: string): Promise<ArchivedSession> {
  await repair(project);
  // Never archives the newest session unless the user names it.
  if (target === undefined && (await findHeadLine(project)) === null) throw unnamedError();
  const { session, ref } = await findWhole(project, target, 'archive');
  let switchedTo: string | null = null;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const archived = await archiveOnce(project, session, ref);
    if (archived !== 'moved') return { ...archived, switchedTo: archived.switchedTo ?? switchedTo };
    switchedTo = (await project.repository.workspace?.head())?.ref ?? null;
  }
  throw new TeddyError(
    'REF_MOVED',
    `The branches of ${session} kept moving.`,
    'Run the command again when nobody else is working on them.',
  );
}

async function archiveOnce(project: Project, session: SessionId, asked: RefName): Promise<ArchivedSession | 'moved'> {
  const { branches } = await listBranches(project, session);
  if (branches.length === 0) return refuseAbsent(project, session, asked);
  const here = await refuseCheckedOut(project, branches);
  await refuseWrites(project, branches);
  await settle(project, session, branches);
  const switchedTo = here === null ? null : await leaveLine(project, here.workspace, here.line);
  // Settling may have moved a branch.
  const archived = await archiveBranches(project, session, await listBranches(project, session));
  return archived === 'moved' ? 'moved' : { ...archived, switchedTo };
}

export interface SessionBranches {
  branches: KnownLine[];
  /** The branches that were not archived. */
  kept: RefName[];
}

/** Archives all branches in their listed state, or none. Throws BRANCH_IN_THE_WAY. */
export async function archiveBranches(
  project: Project,
  session: SessionId,
  { branches, kept: left }: SessionBranches,
): Promise<ArchivedSession | 'moved'> {
  const lines: ArchivedLine[] = [];
  const updates: RefUpdate[] = [];
  for (const line of branches) {
    const { ref, oid } = line;
    const hasLanded = await isMergedSomewhere(project, line);
    const kept = await planLineArchive(project, line);
    lines.push({ line: ref, archive: kept.ref, tip: oid, hasLanded });
    updates.push(kept, { ref, old: oid, new: null });
  }
  // git writes updated refs before it removes deleted ones, so an interruption in between loses nothing.
  if (!(await moveRefs(project, updates, `archived ${session}`))) return 'moved';
  return { session, lines, kept: left, switchedTo: null, workTrees: await findWorkTrees(project, lines) };
}

/**
 * Returns true if the whole line has reached another branch, where the user may have committed it. An archive of the
 * line does not count.
 */
export async function isMergedSomewhere(project: Project, line: KnownLine): Promise<boolean> {
  const end = await readEnd(project, line.ref, line.oid);
  if (end === 'merged' || end === 'landed' || (await hasLandedAsItStands(project, line))) return true;
  return (await findCommit(project, line)) !== null;
}

/** Lists the branches that teddy has named, and the main line under any name. */
export async function listBranches(project: Project, session: SessionId): Promise<SessionBranches> {
  return toBranches((await listLines(project)).filter((line) => line.session === session && line.remote === null));
}

/** Splits a session's local lines. */
export function toBranches(lines: readonly KnownLine[]): SessionBranches {
  const main = chooseMain(lines);
  const isOurs = (line: KnownLine) => line.isMain || line.branch !== null || line === main;
  return { branches: lines.filter(isOurs), kept: lines.filter((line) => !isOurs(line)).map(({ ref }) => ref) };
}

/** Succeeds when the session has an archive, even if the lookup found a remote's branch with that name instead. */
async function refuseAbsent(
  { repository: { store } }: Project,
  session: SessionId,
  asked: RefName,
): Promise<ArchivedSession> {
  if (parseArchiveRef(asked) !== null || (await resolveArchive(store, mainLineRef(session))) !== null)
    return { session, lines: [], kept: [], switchedTo: null, workTrees: [] };
  const hint = '`teddy list` shows which sessions have one.';
  throw new TeddyError('UNKNOWN_SESSION', `${session} has no branch here.`, hint);
}

/** Returns null when this work tree has none of the branches checked out. */
export async function refuseCheckedOut(
  { repository }: Project,
  branches: readonly KnownLine[],
): Promise<{ workspace: Workspace; line: KnownLine } | null> {
  const trees = await repository.workTrees();
  let here: { workspace: Workspace; line: KnownLine } | null = null;
  for (const line of branches) {
    const { ref } = line;
    const tree = trees.find((one) => one.ref === ref);
    if (tree !== undefined && repository.workspace?.root === tree.root)
      here = { workspace: repository.workspace, line };
    else if (tree !== undefined) throw await checkedOutError(repository, ref, tree.root);
    const operation = (await repository.workspace?.operationInProgress(ref)) ?? null;
    if (operation === null || (tree === undefined && !operation.startsWith('rebase'))) continue;
    const hint = 'Finish or abort it with git (`git status` shows how), then run the command again.';
    throw new TeddyError('OPERATION_IN_PROGRESS', `A ${operation} is in progress.`, hint);
  }
  return here;
}

async function checkedOutError({ linkedWorkTrees }: Repository, ref: RefName, root: string): Promise<TeddyError> {
  const isOurs = (await linkedWorkTrees()).some((tree) => tree.root === root && tree.madeFor !== null);
  const leave = `Switch that work tree to another branch first: \`git -C ${toShellWord(root)} switch --detach\``;
  const hint = isOurs ? `${leave}; or remove it: \`teddy worktree remove ${toShellWord(root)}\`.` : `${leave}.`;
  return new TeddyError('LINE_CHECKED_OUT', `${shortRef(ref)} is checked out in ${root}.`, hint);
}

/**
 * Switches to the session's base branch. Throws LINE_CHECKED_OUT when edits prevent the switch, or when that branch is
 * missing.
 */
async function leaveLine(project: Project, workspace: Workspace, line: KnownLine): Promise<string> {
  await refuseRunsIn(project, workspace);
  const name = shortRef(line.ref);
  const base = await findBase(project, line);
  if (base === null)
    throw new TeddyError(
      'LINE_CHECKED_OUT',
      `${name} is checked out, and the branch that it started from does not exist here.`,
      'Leave it first: `git switch --detach`.',
    );
  const { edits, unmerged } = await workspace.status({ untracked: false });
  if (edits.length + unmerged.length > 0)
    throw new TeddyError(
      'LINE_CHECKED_OUT',
      `${name} is checked out here, with uncommitted edits.`,
      `Commit them, or stash them with \`${unmerged.length > 0 ? 'git add -u && ' : ''}git stash\`; then run the command again, which switches to ${base}.`,
    );
  await refuseHeldBase(project, workspace, line, base);
  await workspace.switchTo(`refs/heads/${base}` as RefName);
  return base;
}

/** git does not check out the same branch twice. */
async function refuseHeldBase(project: Project, workspace: Workspace, line: KnownLine, base: string): Promise<void> {
  const holder = await findHolder(project, workspace, base);
  if (holder === null) return;
  throw new TeddyError(
    'LINE_CHECKED_OUT',
    `${shortRef(line.ref)} is checked out here, and ${base} is checked out in ${holder}.`,
    `Let this work tree switch away from it first: \`${await toArchiveCommand(project, line)}\`.`,
  );
}

/** Returns the root of the other work tree that has the branch checked out, or null. */
export async function findHolder(project: Project, workspace: Workspace, branch: string): Promise<string | null> {
  const trees = await project.repository.workTrees();
  return trees.find(({ ref, root }) => ref === `refs/heads/${branch}` && root !== workspace.root)?.root ?? null;
}

export async function findBase(project: Project, line: KnownLine): Promise<string | null> {
  const { store } = project.repository;
  const started = await readBaseBranch(project, line.oid);
  const usual = (await readDefaultBranches(project)).map(({ ref }) => ref);
  const candidates = [...(started === null ? [] : [`refs/heads/${started}` as RefName]), ...usual];
  const local = candidates.filter((ref) => ref.startsWith('refs/heads/') && !ref.endsWith('/teddy/global'));
  for (const ref of local) if (ref !== line.ref && (await store.resolve(ref)) !== null) return shortRef(ref);
  return null;
}

/** Throws WRITE_ACTIVE when an unfinished write session needs one of the branches. */
export async function refuseWrites(project: Project, branches: readonly KnownLine[]): Promise<void> {
  if (await project.writes.isEmpty()) return;
  const open = (await project.writes.list()).find(
    ({ record, state }) =>
      branches.some(({ ref }) => ref === record?.line?.ref) && (state === null || !isOver(state.phase)),
  );
  if (open === undefined) return;
  throw new TeddyError(
    'WRITE_ACTIVE',
    `The write session ${open.id} on ${shortRef(open.record?.line?.ref ?? '')} is not finished.`,
    `Finish it or give it up: \`teddy write recover ${open.id}\`, \`teddy write cancel ${open.id}\`.`,
  );
}

/** Adds the answers that a killed command left behind to their lines, if the lines exist. */
export async function settle(project: Project, session: SessionId, branches: readonly RefTip[]): Promise<void> {
  for (const { ref, oid } of branches) {
    await checkUnfinishedRuns(project, { ref, session, tip: oid, workspace: null }, { settles: false });
    await recoverAnswers(project, { ref, workspace: null });
  }
}

/** Throws BRANCH_IN_THE_WAY. */
export async function planLineArchive(project: Project, line: KnownLine): Promise<RefUpdate> {
  const { store } = project.repository;
  const { ref, oid, session, isMain, branch } = line;
  // A main line with another name is archived under its session's name.
  const { update, inTheWay } = await planArchive(store, isMain || branch !== null ? ref : mainLineRef(session), oid);
  if (inTheWay === null) return update;
  const { ref: held, oid: old } = inTheWay;
  throw new TeddyError(
    'BRANCH_IN_THE_WAY',
    `${held} contains commits that ${shortRef(ref)} does not have, and was not overwritten.`,
    `Give them a branch, \`git branch ${await findFreeBranch(project, session)} ${held}\`, then \`git update-ref -d ${held} ${old}\`, and archive again.`,
  );
}

async function findWorkTrees({ repository }: Project, lines: ArchivedLine[]): Promise<string[]> {
  const isMeant = ({ madeFor, isGone }: LinkedWorkTree) => !isGone && lines.some(({ line }) => line === madeFor);
  return (await repository.linkedWorkTrees()).filter(isMeant).map(({ root }) => root);
}

function unnamedError(): TeddyError {
  const hint = 'Name one that `teddy list` shows: `teddy archive <session>`.';
  return new TeddyError(
    'USAGE',
    "You are not on a session's branch, so teddy does not know which session to archive.",
    hint,
  );
}

/**
 * Finds a whole session. Throws USAGE for a commit, and for a conversation branch's name, because its session has more
 * than that branch.
 */
export async function findWhole(
  project: Project,
  target: string | undefined,
  verb: 'archive' | 'delete',
): Promise<{ session: SessionId; ref: RefName }> {
  const { session, ref, name } = await findRecorded(project, target);
  const branch = ref === null ? null : parseLineRef(ref)?.branch;
  const isBranch = branch != null && target?.endsWith(branch) === true;
  if (ref !== null && !isBranch) return { session, ref };
  throw new TeddyError(
    'USAGE',
    `${name} is ${isBranch ? `one branch of ${session}` : 'a commit'}, but \`teddy ${verb}\` works on a whole session.`,
    isBranch ? `All of it: \`teddy ${verb} ${session}\`.` : 'Name a session: `teddy list` shows them.',
  );
}

export interface RestoredSession {
  session: SessionId;
  /** The created branches; a branch that already existed stays unchanged. */
  lines: { line: RefName; archive: RefName; tip: Oid }[];
}

/**
 * Recreates an archived session's missing branches; the archive stays. Throws UNKNOWN_SESSION when there is no archive,
 * and BRANCH_IN_THE_WAY when a branch with that name lacks archived commits.
 */
export async function restoreArchived(project: Project, target: string): Promise<RestoredSession> {
  const { store } = project.repository;
  const { session } = await findRecorded(project, target);
  const archives = (await listArchives(store)).filter((one) => one.session === session);
  const kept = archives.map(({ line, ref, oid }) => ({ line, archive: ref, tip: oid }));
  if (kept.length === 0) throw toNotArchived(session);
  const there = new Map((await store.listRefs('refs/heads/teddy/')).map(({ ref, oid }) => [ref, oid]));
  for (const { line, tip } of kept) await refuseOther(project, line, there.get(line) ?? null, tip);
  const lines = kept.filter(({ line }) => !there.has(line));
  const updates = lines.map(({ line, tip }) => ({ ref: line, old: null, new: tip }));
  if (await moveRefs(project, updates, `restored ${session}`)) return { session, lines };
  const hint = 'Run the command again.';
  throw new TeddyError('REF_MOVED', `Somebody has created ${shortRef(mainLineRef(session))} in the meantime.`, hint);
}

/** A branch that continues the archived branch contains all of its commits. */
async function refuseOther(
  { repository: { store } }: Project,
  branch: RefName,
  at: Oid | null,
  tip: Oid,
): Promise<void> {
  if (at === null || at === tip || (await store.isAncestor(tip, at))) return;
  const name = toShellWord(shortRef(branch));
  throw new TeddyError(
    'BRANCH_IN_THE_WAY',
    `${shortRef(branch)} already exists, and is not the archived branch. Nothing was changed.`,
    `Rename it: \`git branch -m ${name} <other>\`.`,
  );
}

function toNotArchived(session: SessionId): TeddyError {
  const hint = '`git for-each-ref refs/teddy/archive/` shows what is archived.';
  return new TeddyError('UNKNOWN_SESSION', `No part of ${session} is archived.`, hint);
}
