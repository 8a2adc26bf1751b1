/** Deletes the branches of a session here. They are kept below `refs/teddy/keep/deleted/` for a while, from where they can be taken back. */
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
  hasCome,
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
  /** A remote-tracking branch has all of it. */
  isPushed: boolean;
}

export interface Deletion {
  session: SessionId;
  lines: DoomedLine[];
  /** Those of the session below `refs/teddy/archive/`: they go too. */
  archives: (RefTip & { turns: number; hasLanded: boolean })[];
  /** Lines of the session with names of their own: they are the user's to delete. */
  left: RefName[];
}

/**
 * Lists the refs that would go. Throws UNKNOWN_SESSION, LINE_CHECKED_OUT, OPERATION_IN_PROGRESS; LOCKED for a turn or a write session that is at work;
 * RUN_INTERRUPTED, WRITE_ACTIVE for one that is not finished.
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
      `${session} has no branch here to delete; what a remote has stays there.`,
      '`teddy session list` shows which sessions have one.',
    );
  const remote = (await listLines(project)).filter((line) => line.session === session && line.remote !== null);
  const lines: DoomedLine[] = [];
  for (const line of settled) lines.push(await describeLine(project, line, remote));
  return { session, lines, archives, left };
}

/** All or nothing. Returns the refs that keep them. Throws REF_MOVED. */
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
    throw new TeddyError('REF_MOVED', `The branches of ${session} have moved meanwhile.`, 'Run the command again.');
  return updates.filter(({ old }) => old === null).map(({ ref }) => ref);
}

/**
 * Makes the refs of the last deletion again, where they are not there; what kept them goes. `name`: a session's id, or the part
 * after the date. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION, BRANCH_IN_THE_WAY.
 */
export async function takeBack(project: Project, name: string): Promise<RefTip[]> {
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
      `Nothing is kept of a deleted session ${JSON.stringify(name)}.`,
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
  throw new TeddyError('BRANCH_IN_THE_WAY', `One of these is there already: ${inTheWay}. Nothing was changed.`, hint);
}

/** The deleted session of that id, or of that name after the date; null: there is none. */
function findDeleted(sessions: readonly SessionId[], name: string): SessionId | null {
  const namesakes = sessions.filter((session) => session.slice('20260124-'.length) === name);
  const exact = sessions.find((session) => session === name);
  if (exact === undefined && namesakes.length > 1)
    throw new TeddyError(
      'AMBIGUOUS_SESSION',
      `Several deleted sessions are called ${JSON.stringify(name)}: ${namesakes.join(', ')}.`,
      `Give the whole name: \`teddy session delete --restore ${namesakes.at(-1)}\`.`,
    );
  return exact ?? namesakes[0] ?? null;
}

/** The ref that was deleted, and when. Null for what no deletion has made. */
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
    ? await afterLeaving(project, here.line.ref, `teddy session delete ${here.line.session}`)
    : `git switch ${base === null ? '--detach' : toShellWord(base)}`;
  const hint = `Leave it first: \`${way}\`.`;
  throw new TeddyError('LINE_CHECKED_OUT', `${shortRef(here.line.ref)} is checked out here.`, hint);
}

/** Throws LOCKED while a model is asked for the line's next turn. */
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
  return { ref, oid, turns, hasLanded: await hasCome(project, line), isPushed };
}
