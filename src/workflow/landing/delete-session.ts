/**
 * Deletes a session's local branches. `refs/teddy/keep/deleted/` keeps them for a while, so that the user can restore
 * them.
 */
import { TeddyError } from '../../errors.ts';
import type { RefTip, RefUpdate } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import {
  archivePrefix,
  deletedPrefix,
  parseArchiveRef,
  parseLineRef,
  shortRef,
  turnNumber,
  type RefName,
  type SessionId,
} from '../../names.ts';
import { hasLandedAsItStands } from '../line/find-open.ts';
import { listLines, type KnownLine } from '../../session/lines/lines.ts';
import { nextTurn, readLine } from '../../view/view.ts';
import { repair } from '../line/repair.ts';
import {
  findBase,
  findHolder,
  findWhole,
  isMergedSomewhere,
  listBranches,
  refuseCheckedOut,
  refuseWrites,
  settle,
} from './archive-session.ts';
import { moveRefs } from '../line/move-refs.ts';
import { afterLeaving } from '../line/way-to-line.ts';
import { toShellWord } from '../../session/text/shell-word.ts';

interface DoomedLine extends RefTip {
  turns: number;
  hasLanded: boolean;
  /** True when a remote-tracking branch contains all of its commits. */
  isPushed: boolean;
}

export interface Deletion {
  session: SessionId;
  lines: DoomedLine[];
  /** The session's refs below `refs/teddy/archive/`, which the deletion includes. */
  archives: (RefTip & { turns: number; hasLanded: boolean })[];
  /** The session's custom-named lines, left for the user to delete. */
  left: RefName[];
}

/**
 * Lists the refs to delete. Throws UNKNOWN_SESSION, LINE_CHECKED_OUT, OPERATION_IN_PROGRESS; LOCKED while a turn or a
 * write session is in progress; RUN_INTERRUPTED or WRITE_ACTIVE when one is unfinished.
 */
export async function planDeletion(project: Project, target: string): Promise<Deletion> {
  await repair(project);
  const { session } = await findWhole(project, target, 'delete');
  const { branches } = await listBranches(project, session);
  await refuseHere(project, branches);
  await refuseWrites(project, branches);
  await settle(project, session, branches);
  const { branches: settled, kept: left } = await listBranches(project, session);
  for (const line of settled) await refuseAsking(project, line);
  const all = await project.repository.store.listRefs(archivePrefix);
  const found = all.filter((one) => parseArchiveRef(one.ref)?.session === session);
  const archives = await Promise.all(found.map((one) => describeArchive(project, one)));
  if (settled.length + archives.length === 0)
    throw new TeddyError(
      'UNKNOWN_SESSION',
      `${session} has no branch here to delete; branches on a remote stay.`,
      '`teddy list` shows which sessions have one.',
    );
  const remote = (await listLines(project)).filter((line) => line.session === session && line.remote !== null);
  const lines: DoomedLine[] = [];
  for (const line of settled) lines.push(await describeLine(project, line, remote));
  return { session, lines, archives, left };
}

/** Deletes all refs or none. Returns the refs that keep the branches. Throws REF_MOVED. */
export async function deleteSession(project: Project, { session, lines, archives }: Deletion): Promise<RefName[]> {
  const stamp = project.clock
    .now()
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, '');
  const updates = [...lines, ...archives].flatMap(({ ref, oid }): RefUpdate[] => [
    { ref: `${deletedPrefix}${stamp}/${ref.slice('refs/'.length)}` as RefName, old: null, new: oid },
    { ref, old: oid, new: null },
  ]);
  if (!(await moveRefs(project, updates, `deleted ${session}`)))
    throw new TeddyError(
      'REF_MOVED',
      `The branches of ${session} have moved in the meantime.`,
      'Run the command again.',
    );
  return updates.filter(({ old }) => old === null).map(({ ref }) => ref);
}

/**
 * Restores the last deletion's missing refs, and removes the refs that kept them. `name` is a session's ID, or the part
 * after the date. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION or BRANCH_IN_THE_WAY.
 */
export async function restoreDeleted(project: Project, name: string): Promise<RefTip[]> {
  const { store } = project.repository;
  const all = (await store.listRefs(deletedPrefix)).flatMap((tip) => {
    const deleted = parseDeletedRef(tip.ref);
    return deleted === null ? [] : [{ ...deleted, kept: tip.ref, oid: tip.oid }];
  });
  const session = findDeleted([...new Set(all.map((one) => one.session))], name);
  const kept = all.filter((one) => one.session === session);
  const last = kept
    .map(({ stamp }) => stamp)
    .toSorted()
    .at(-1);
  if (last === undefined)
    throw new TeddyError(
      'UNKNOWN_SESSION',
      `No deleted session called ${JSON.stringify(name)} is kept.`,
      `\`git for-each-ref ${deletedPrefix}\` shows what is kept.`,
    );
  const wanted = kept.filter(({ stamp }) => stamp === last);
  const updates = wanted.flatMap(({ ref, oid, kept: from }): RefUpdate[] => [
    { ref, old: null, new: oid },
    { ref: from, old: oid, new: null },
  ]);
  if (await moveRefs(project, updates, `took back ${session}`)) return wanted;
  const inTheWay = wanted.map(({ ref }) => shortRef(ref)).join(', ');
  const hint = 'Rename it: `git branch -m <name> <other>`.';
  throw new TeddyError('BRANCH_IN_THE_WAY', `One of these already exists: ${inTheWay}. Nothing was changed.`, hint);
}

/** Returns the deleted session with that ID, or with that name after the date; null when there is none. */
function findDeleted(sessions: readonly SessionId[], name: string): SessionId | null {
  const namesakes = sessions.filter((session) => session.slice('20260124-'.length) === name);
  const exact = sessions.find((session) => session === name);
  if (exact === undefined && namesakes.length > 1)
    throw new TeddyError(
      'AMBIGUOUS_SESSION',
      `Several deleted sessions are called ${JSON.stringify(name)}: ${namesakes.join(', ')}.`,
      `Give the full name: \`teddy delete --restore ${namesakes.at(-1)}\`.`,
    );
  return exact ?? namesakes[0] ?? null;
}

/** Returns the deleted ref, and the time of its deletion. Returns null for a ref that no deletion made. */
function parseDeletedRef(kept: RefName): { stamp: string; ref: RefName; session: SessionId } | null {
  const match = kept.startsWith(deletedPrefix) ? /^(\d{8}T\d{6}Z)\/(.+)$/.exec(kept.slice(deletedPrefix.length)) : null;
  const ref = `refs/${match?.[2] ?? ''}` as RefName;
  const session = (parseLineRef(ref) ?? parseArchiveRef(ref))?.session;
  return match?.[1] === undefined || session === undefined ? null : { stamp: match[1], ref, session };
}

async function refuseHere(project: Project, branches: readonly KnownLine[]): Promise<void> {
  const here = await refuseCheckedOut(project, branches);
  if (here === null) return;
  const base = await findBase(project, here.line);
  const isHeld = base !== null && (await findHolder(project, here.workspace, base)) !== null;
  const way = isHeld
    ? await afterLeaving(project, here.line.ref, `teddy delete ${here.line.session}`)
    : `git switch ${base === null ? '--detach' : toShellWord(base)}`;
  const hint = `Leave it first: \`${way}\`.`;
  throw new TeddyError('LINE_CHECKED_OUT', `${shortRef(here.line.ref)} is checked out here.`, hint);
}

/** Throws LOCKED while teddy is asking a model for the line's next turn. */
async function refuseAsking(project: Project, { ref, oid, session }: KnownLine): Promise<void> {
  const turn = nextTurn(await readLine(project.repository.store, oid));
  await (await project.answers.claim({ session, ref, turn })).release();
}

async function describeArchive(project: Project, { ref, oid }: RefTip): Promise<Deletion['archives'][number]> {
  const { session, turns, entryOid, entry } = await readLine(project.repository.store, oid);
  const last = turns.at(-1);
  const hasLanded = await hasLandedAsItStands(project, { oid, session, nearest: { oid: entryOid, entry } });
  return { ref, oid, turns: last === undefined ? 0 : turnNumber(last), hasLanded };
}

async function describeLine(project: Project, line: KnownLine, remote: readonly KnownLine[]): Promise<DoomedLine> {
  const { store } = project.repository;
  const { ref, oid } = line;
  let isPushed = false;
  for (const there of remote) isPushed ||= await store.isAncestor(oid, there.oid);
  const last = (await readLine(store, oid)).turns.at(-1);
  const turns = last === undefined ? 0 : turnNumber(last);
  return { ref, oid, turns, hasLanded: await isMergedSomewhere(project, line), isPushed };
}
