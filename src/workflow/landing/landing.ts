/** Parts shared by a landing's steps: its request, its two sides, its archive, and the command that lands. */
import { toShellWord } from '../../session/text/shell-word.ts';
import {
  type Oid,
  type RefName,
  type SessionId,
  type RepoPath,
  archiveRef,
  mainLineRef,
  parseLineRef,
  shortRef,
} from '../../names.ts';
import type { ObjectBatch, Store, TreeEntry } from '../../ports/git.ts';
import { editTree } from '../../session/paths/edit-tree.ts';
import type { Project } from '../../ports/project.ts';
import { chooseMain, listLines } from '../../session/lines/lines.ts';
import { planArchive } from '../../session/lines/archives.ts';
import { moveRefs } from '../line/move-refs.ts';

export interface LandRequest {
  /** A session or a line, which may be archived; by default HEAD's line, otherwise the newest session. */
  target?: string | undefined;
  /** The target branch; by default the session's base branch. */
  onto?: string | undefined;
  /** The commit to start `onto` from, a branch that the landing creates or moves forward to there. */
  from?: Oid | undefined;
  /** The name of that commit for people, such as `origin/main`. */
  fromName?: string | undefined;
  /** The words of the user for a landing that is for a pull request, which chooses `onto` itself. */
  pullRequest?: { branch: string | undefined; base: string | undefined } | undefined;
  /** The subject and the body; by default made from the turns. */
  message?: string | undefined;
  /** Lets the user edit the message before it is used. */
  edit?: ((message: string) => Promise<string>) | undefined;
  isDryRun?: boolean;
  /** True to land the user's edits from before the session's first message without asking. */
  withOwnEdits?: boolean;
}

export interface LandableLine {
  session: SessionId;
  name: string;
  ref: RefName;
  tip: Oid;
}

/** Returns the command that lands a line with the request's options, except the options replaced by `changed`. */
export function toLandCommand(name: string, request: LandRequest, changed: Partial<LandRequest> = {}): string {
  const { onto, pullRequest, message, edit, withOwnEdits, isDryRun } = { ...request, ...changed };
  const named = pullRequest === undefined ? onto : pullRequest.base;
  const branch = pullRequest?.branch;
  return [
    `teddy land -s ${toShellWord(name)}`,
    ...(pullRequest === undefined ? [] : [branch === undefined ? '--pr' : `--pr=${toShellWord(branch)}`]),
    ...(named === undefined ? [] : ['--onto', toShellWord(named)]),
    ...(message === undefined ? [] : ['-m', toShellWord(message)]),
    ...(edit === undefined ? [] : ['--edit']),
    ...(withOwnEdits === true ? ['--with-own-edits'] : []),
    ...(isDryRun === true ? ['--dry-run'] : []),
  ].join(' ');
}

/** Three trees that differ only in their code. */
export interface LandingSides {
  base: Oid;
  ours: Oid;
  theirs: Oid;
}

/**
 * Reads the sides from commits; null means no code at all. All three receive `target`'s `.teddy/`, so that no merge can
 * touch it.
 */
export async function readSides(
  store: Store,
  { base, target, tip }: { base: Oid | null; target: Oid | null; tip: Oid },
): Promise<LandingSides> {
  const batch = store.batch();
  const treeOf = async (commit: Oid | null) => (commit === null ? null : (await store.readCommit(commit)).tree);
  const ours = await treeOf(target);
  const own = ours === null ? null : ((await store.readTree(ours)).find(({ name }) => name === '.teddy') ?? null);
  const sides = {
    base: await replaceSessions(store, batch, await treeOf(base), own),
    ours: ours ?? (await batch.tree([])),
    theirs: await replaceSessions(store, batch, await treeOf(tip), own),
  };
  await batch.flush();
  return sides;
}

function replaceSessions(store: Store, batch: ObjectBatch, tree: Oid | null, own: TreeEntry | null): Promise<Oid> {
  const entry = own === null ? null : { mode: own.mode, oid: own.oid };
  return editTree(store, batch, tree, [{ path: '.teddy' as RepoPath, entry }]);
}

/**
 * Finds the name to archive a line under: its branch's name, or its session's name when the main line has another name.
 * Null when the line is one of several custom-named branches.
 */
async function findKeptLine(
  project: Project,
  { ref, session }: { ref: RefName; session: SessionId },
): Promise<RefName | null> {
  if (parseLineRef(ref)?.session === session) return ref;
  const lines = (await listLines(project)).filter((line) => line.session === session && line.remote === null);
  const main = chooseMain(lines);
  return main?.ref === ref && main.branch === null ? mainLineRef(session) : null;
}

/** `isNew` is true when teddy created the archive or moved it forward. */
interface KeptArchive {
  ref: RefName;
  isNew: boolean;
}

/**
 * Archives the line and returns the archive; null when there is no name to archive it under. The archive only ever
 * moves forward.
 */
export async function keepArchive(
  project: Project,
  { ref, name, tip, session }: LandableLine,
): Promise<KeptArchive | null> {
  const kept = await findKeptLine(project, { ref, session });
  if (kept === null) {
    if (ref.startsWith('refs/heads/'))
      project.notices.warn(`${name} has a custom name and is not archived: keep the branch to keep its turns.`);
    return null;
  }
  const { store } = project.repository;
  let planned: Awaited<ReturnType<typeof planArchive>> | null = null;
  const toMoves = async () => {
    const { update, inTheWay } = (planned = await planArchive(store, kept, tip));
    return inTheWay !== null || update.old === update.new ? [] : [update];
  };
  const isKept = await moveRefs(project, toMoves, `keep ${shortRef(ref)}`);
  const { update, inTheWay } = planned ?? (await planArchive(store, kept, tip));
  if (isKept && inTheWay === null) return { ref: update.ref, isNew: update.old !== update.new };
  project.notices.warn(
    `${archiveRef(kept)} contains commits other than ${name} and was not changed: keep the branch to keep its turns.`,
  );
  return null;
}
