/**
 * Deletes an archived session's branches on a remote, with a lease; keeps each branch that has commits missing from the
 * local archives.
 */
import { TeddyError } from '../../errors.ts';
import type { RefTip, RefUpdate, TransferOptions } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { archivePrefix, archiveRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { isOnLine } from '../../session/entries/ancestry.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';
import { listArchives } from '../../session/lines/archives.ts';
import { hasLandedAsItStands } from '../line/find-open.ts';
import { isLine, readBaseBranch } from '../../session/lines/lines.ts';
import { chooseRemote, type ChosenRemote } from '../sharing/choose-remote.ts';
import { moveTracking, pushLines } from '../sharing/push-lines.ts';

interface RemoteBranch {
  ref: RefName;
  tip: Oid;
  /** The author of the branch's last entry: `Ada <ada@example.org>`. */
  author: string;
  hasLanded: boolean;
}

export interface RemoteArchive {
  remote: ChosenRemote;
  branches: RemoteBranch[];
  /** The branches that stay because the local archives lack some of their commits. */
  left: RefName[];
  /** The remote's refs as listed. */
  listed: RefTip[];
  /** The archives that the remote does not have yet. */
  missing: RefUpdate[];
}

/**
 * Checks the remote before archiving anything, because archiving may move HEAD and thereby change the default remote;
 * reports a wrong name or an unreachable remote first. Throws as `listRemoteArchive` does.
 */
export async function requireRemote(
  project: Project,
  wanted: string | undefined,
  options: TransferOptions,
): Promise<string> {
  const { name } = await chooseRemote(project, wanted, { isPush: true });
  await project.repository.remotes.list(name, [archivePrefix], options);
  return name;
}

/** Lists the refs to delete. Throws UNKNOWN_REMOTE, and the errors of `Remotes.list`. */
export async function listRemoteArchive(
  project: Project,
  session: SessionId,
  wanted: string | undefined,
  options: TransferOptions,
): Promise<RemoteArchive> {
  const { store, remotes } = project.repository;
  const remote = await chooseRemote(project, wanted, { isPush: true });
  const { refs: listed } = await remotes.list(remote.name, ['refs/heads/', archivePrefix], options);
  const theirs = new Map(listed.map(({ ref, oid }) => [ref, oid]));
  const branches: RemoteBranch[] = [];
  const left: RefName[] = [];
  const missing: RefUpdate[] = [];
  for (const { line, oid, session: owner } of await listArchives(store)) {
    if (owner !== session) continue;
    const named = theirs.get(line);
    const isOther = named !== undefined && named !== oid;
    const isOlder = isOther && (await isArchived(project, named, oid));
    if (isOther && !isOlder) left.push(line);
    // The main line may have another name on the remote.
    const isOfLine = ({ ref, oid: tip }: RefTip) => tip === oid || (isOlder && ref === line);
    const there = listed.filter((one) => one.ref.startsWith('refs/heads/') && isOfLine(one));
    for (const { ref: branchRef, oid: tip } of there) {
      const nearest = await findNearestEntry(project, tip);
      if (nearest === null || !(await isLine(project, { branchRef, session, nearest }))) continue;
      const archive = archiveRef(line);
      if (theirs.get(archive) !== oid && !missing.some((one) => one.ref === archive))
        missing.push({ ref: archive, old: theirs.get(archive) ?? null, new: oid });
      // Two lines may end at the same commit.
      if (branches.some((one) => one.ref === branchRef)) continue;
      // Code that has landed only here is not on the remote.
      const base = theirs.get(`refs/heads/${await readBaseBranch(project, nearest.oid)}` as RefName);
      const bases = base !== undefined && (await store.readSize(base)) !== null ? [base] : [];
      const { author } = await store.readCommit(nearest.oid);
      const hasLanded = await hasLandedAsItStands(project, { oid: tip, session, nearest }, bases);
      branches.push({ ref: branchRef, tip, author: author.replace(/ \d+ [+-]\d+$/, ''), hasLanded });
    }
  }
  // Another archive may have commits that the branch's own archive lacks.
  return { remote, branches, left: left.filter((ref) => !branches.some((one) => one.ref === ref)), listed, missing };
}

/** A commit that is not in this clone cannot be in a local archive. */
async function isArchived({ repository: { store } }: Project, tip: Oid, archive: Oid): Promise<boolean> {
  return (await store.readSize(tip)) !== null && isOnLine(store, archive, tip);
}

/**
 * Deletes the branches and pushes the archive in the same push, so that nothing is lost on the remote. Throws
 * REMOTE_CHANGED, and as `pushLines` does.
 */
export async function deleteOnRemote(
  project: Project,
  { remote, branches, listed, missing }: RemoteArchive,
  options: TransferOptions,
): Promise<void> {
  const deleted = branches.map(({ ref, tip }): RefUpdate => ({ ref, old: tip, new: null }));
  const refs = { remote, listed, here: await project.repository.store.listRefs('refs/remotes/'), named: new Map() };
  const outcome = await pushLines(project, refs, [...missing, ...deleted], { ...options, isWhole: true });
  if (outcome === 'moved')
    throw new TeddyError(
      'REMOTE_CHANGED',
      `${remote.label} has changed in the meantime. Nothing was deleted there.`,
      'Run the command again, and check the new list.',
    );
  await moveTracking(project, remote, deleted);
}
