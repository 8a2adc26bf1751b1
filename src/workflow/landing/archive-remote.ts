/** Deletes the branches of an archived session on a remote: each that has nothing which is not archived here, by its lease. */
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
  /** Who wrote its last entry: `Ada <ada@example.org>`. */
  author: string;
  hasLanded: boolean;
}

export interface RemoteArchive {
  remote: ChosenRemote;
  branches: RemoteBranch[];
  /** Branches that hold something there that is not archived here: they stay. */
  left: RefName[];
  /** Refs of the remote as they were listed. */
  listed: RefTip[];
  /** The archives that it does not have yet. */
  missing: RefUpdate[];
}

/** Before anything is archived, which may move HEAD, that names one: a wrong name, or a remote that is away, is told first. Throws as `listRemoteArchive`. */
export async function requireRemote(
  project: Project,
  wanted: string | undefined,
  options: TransferOptions,
): Promise<string> {
  const { name } = await chooseRemote(project, wanted, { isPush: true });
  await project.repository.remotes.list(name, [archivePrefix], options);
  return name;
}

/** Lists the refs that would go. Throws UNKNOWN_REMOTE, and the errors of `Remotes.list`. */
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
    // The main line may go by another name there.
    const isOfLine = ({ ref, oid: tip }: RefTip) => tip === oid || (isOlder && ref === line);
    const there = listed.filter((one) => one.ref.startsWith('refs/heads/') && isOfLine(one));
    for (const { ref: branchRef, oid: tip } of there) {
      const nearest = await findNearestEntry(project, tip);
      if (nearest === null || !(await isLine(project, { branchRef, session, nearest }))) continue;
      const archive = archiveRef(line);
      if (theirs.get(archive) !== oid && !missing.some((one) => one.ref === archive))
        missing.push({ ref: archive, old: theirs.get(archive) ?? null, new: oid });
      // Two lines may have ended on one commit.
      if (branches.some((one) => one.ref === branchRef)) continue;
      // Code that has landed only here is not on the remote.
      const base = theirs.get(`refs/heads/${await readBaseBranch(project, nearest.oid)}` as RefName);
      const bases = base !== undefined && (await store.readSize(base)) !== null ? [base] : [];
      const { author } = await store.readCommit(nearest.oid);
      const hasLanded = await hasLandedAsItStands(project, { oid: tip, session, nearest }, bases);
      branches.push({ ref: branchRef, tip, author: author.replace(/ \d+ [+-]\d+$/, ''), hasLanded });
    }
  }
  // Another archive may have what its own does not.
  return { remote, branches, left: left.filter((ref) => !branches.some((one) => one.ref === ref)), listed, missing };
}

/** A commit that is not here is in no archive that is. */
async function isArchived({ repository: { store } }: Project, tip: Oid, archive: Oid): Promise<boolean> {
  return (await store.readSize(tip)) !== null && isOnLine(store, archive, tip);
}

/** The archive goes there first, in the same push: nothing is lost there. Throws REMOTE_CHANGED, and as `pushLines`. */
export async function deleteOnRemote(
  project: Project,
  { remote, branches, listed, missing }: RemoteArchive,
  options: TransferOptions,
): Promise<void> {
  const deleted = branches.map(({ ref, tip }): RefUpdate => ({ ref, old: tip, new: null }));
  const refs = { remote, listed, here: await project.repository.store.listRefs('refs/remotes/'), named: new Map() };
  const outcome = await pushLines(project, refs, [...missing, ...deleted], options);
  if (outcome === 'moved')
    throw new TeddyError(
      'REMOTE_CHANGED',
      `${remote.label} has changed meanwhile. Nothing was deleted there.`,
      'Run the command again, and look at the list anew.',
    );
  await moveTracking(project, remote, deleted);
}
