/** Puts the branches of a session away: they go, and `refs/teddy/archive/` keeps all that was on them. */
import { TeddyError } from '../../errors.ts';
import type { LinkedWorkTree, Project, RefTip, RefUpdate } from '../../ports.ts';
import {
  archiveRef,
  mainLineRef,
  parseArchiveRef,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type SessionId,
} from '../../session/names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { findHeadLine, readSession } from '../find-line.ts';
import { isOnLine } from '../line-ancestry.ts';
import { readEnd } from '../read-end.ts';
import { recoverAnswers } from '../recover-answer.ts';
import { findRecorded } from '../review/find-recorded.ts';
import { checkUnfinishedRuns } from '../unfinished-run.ts';

/** A branch, what keeps it now, and its tip. */
interface ArchivedLine {
  branch: RefName;
  archive: RefName;
  tip: Oid;
  /** It was landed or merged, as far as the refs of this repository say. */
  hasLanded: boolean;
}

export interface ArchivedSession {
  session: SessionId;
  /** Empty: it was archived before. */
  lines: ArchivedLine[];
  /** Roots of the linked work trees that teddy made for them. */
  workTrees: string[];
}

/** So often others may move a branch in between. */
const maxAttempts = 5;

/**
 * All of the session's local branches, or none. Throws USAGE without a name off every line, UNKNOWN_SESSION, LINE_CHECKED_OUT, OPERATION_IN_PROGRESS,
 * BRANCH_IN_THE_WAY where an archive of the name holds other commits, RUN_INTERRUPTED, LOCKED, REF_MOVED.
 */
export async function archiveSession(project: Project, target?: string): Promise<ArchivedSession> {
  for (const said of (await project.repository.workspace?.repair()) ?? []) project.notices.warn(said);
  // The newest one that happens to be there is nothing to put away unasked.
  if (target === undefined && (await findHeadLine(project)) === null) throw toUnnamed();
  const { session, ref, name } = await findRecorded(project, target);
  if (ref === null) throw toUsage(name);
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const archived = await archiveOnce(project, session, ref);
    if (archived !== 'moved') return archived;
  }
  throw new TeddyError(
    'REF_MOVED',
    `The branches of ${session} have moved again and again meanwhile.`,
    'Run the command again when nobody else works on them.',
  );
}

async function archiveOnce(project: Project, session: SessionId, asked: RefName): Promise<ArchivedSession | 'moved'> {
  const branches = await listBranches(project, session);
  if (branches.length === 0) return refuseAbsent(project, session, asked);
  await refuseCheckedOut(project, branches);
  await settle(project, session, branches);
  const lines: ArchivedLine[] = [];
  const updates: RefUpdate[] = [];
  // What was settled may have moved a branch.
  for (const { ref, oid } of await listBranches(project, session)) {
    const hasLanded = (await readEnd(project, ref, oid)) !== null;
    const archive = await toArchiveUpdate(project, { ref, oid });
    lines.push({ branch: ref, archive: archive.ref, tip: oid, hasLanded });
    updates.push(archive, { ref, old: oid, new: null });
  }
  // git writes what is updated before it removes what is deleted: whatever stops it in between, nothing is lost.
  if ((await project.repository.store.updateRefs(updates, `teddy: archived ${session}`)) === 'moved') return 'moved';
  return { session, lines, workTrees: await findWorkTrees(project, lines) };
}

async function listBranches(project: Project, session: SessionId): Promise<RefTip[]> {
  const tips = await project.repository.store.listRefs('refs/heads/teddy/');
  const named = tips.filter(({ ref }) => parseLineRef(ref)?.session === session);
  const held = await Promise.all(named.map(async ({ ref, oid }) => (await readSession(project, ref, oid)) !== null));
  return named.filter((_, at) => held[at]);
}

/** Its archive counts also where a remote has a branch of that name, which is what was found then. */
async function refuseAbsent(
  { repository: { store } }: Project,
  session: SessionId,
  asked: RefName,
): Promise<ArchivedSession> {
  const kept = [asked, archiveRef(mainLineRef(session))].filter((ref) => parseArchiveRef(ref) !== null);
  if ((await store.listRefs(...kept)).length > 0) return { session, lines: [], workTrees: [] };
  throw new TeddyError(
    'UNKNOWN_SESSION',
    `${session} has no branch teddy/${session} here.`,
    '`teddy session list` shows which sessions have; a branch of another name is yours to delete with git.',
  );
}

async function refuseCheckedOut({ repository }: Project, branches: RefTip[]): Promise<void> {
  const trees = await repository.workTrees();
  for (const { ref } of branches) {
    const tree = trees.find((one) => one.ref === ref);
    if (tree !== undefined) throw toCheckedOut(ref, tree.root, tree.root === repository.workspace?.root);
    const operation = (await repository.workspace?.operationInProgress(ref)) ?? null;
    if (operation?.startsWith('rebase') !== true) continue;
    const hint = 'Finish or abort it with git (`git status` shows how), then run the command again.';
    throw new TeddyError('OPERATION_IN_PROGRESS', `A ${operation} is in progress.`, hint);
  }
}

function toCheckedOut(ref: RefName, root: string, isHere: boolean): TeddyError {
  const git = isHere ? 'git' : `git -C ${toShellWord(root)}`;
  return new TeddyError(
    'LINE_CHECKED_OUT',
    `${shortRef(ref)} is checked out in ${root}.`,
    `Switch that work tree to another branch first: \`${git} switch <branch>\`${isHere ? '' : '; or remove it, if it is a linked one: `teddy worktree remove`'}.`,
  );
}

/** What a command that was killed has left of an answer goes on its line as long as there is one. */
async function settle(project: Project, session: SessionId, branches: RefTip[]): Promise<void> {
  for (const { ref, oid } of branches) {
    await checkUnfinishedRuns(project, { ref, session, tip: oid, workspace: null }, { settles: false });
    await recoverAnswers(project, { ref, workspace: null });
  }
}

async function toArchiveUpdate({ repository: { store } }: Project, { ref, oid }: RefTip): Promise<RefUpdate> {
  const archive = archiveRef(ref);
  const old = await store.resolve(archive);
  if (old === null || (await isOnLine(store, oid, old))) return { ref: archive, old, new: oid };
  // It is ahead: somebody has archived what came after.
  if (await isOnLine(store, old, oid)) return { ref: archive, old, new: old };
  throw new TeddyError(
    'BRANCH_IN_THE_WAY',
    `${archive} holds commits that ${shortRef(ref)} does not have, and is not overwritten.`,
    `Give them a branch, \`git branch <name> ${archive}\`, then \`git update-ref -d ${archive} ${old}\`, and archive again.`,
  );
}

async function findWorkTrees({ repository }: Project, lines: ArchivedLine[]): Promise<string[]> {
  const isMeant = ({ madeFor, isGone }: LinkedWorkTree) => !isGone && lines.some(({ branch }) => branch === madeFor);
  return (await repository.linkedWorkTrees()).filter(isMeant).map(({ root }) => root);
}

function toUnnamed(): TeddyError {
  const hint = 'Name one, e.g. `teddy session archive add-login`: `teddy session list` shows them.';
  return new TeddyError('USAGE', 'HEAD is on no line, so it is not known which session to archive.', hint);
}

function toUsage(name: string): TeddyError {
  return new TeddyError(
    'USAGE',
    `${name} is a commit, and what is archived is a session.`,
    'Name a session: `teddy session list` shows them.',
  );
}
