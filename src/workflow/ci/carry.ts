/**
 * Keeps the sessions that a merge on the forge has brought to a branch: archives them on the remote, before somebody
 * deletes their branches, and notes which session a squashed commit came from. Deletes nothing, and moves no ref here.
 */
import { TeddyError } from '../../errors.ts';
import type { RefTip, RefUpdate } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isOnLine } from '../../session/entries/ancestry.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';
import { decodeLandings, landingText, mergeCommits, type LandedFrom } from '../../session/lines/landing.ts';
import {
  archivePrefix,
  archiveRef,
  landingBranch,
  mainLineRef,
  notesRef,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import { requireCommit } from '../line/find-recorded.ts';
import { addNoteLines } from '../line/notes.ts';
import { withQuarantine } from '../line/quarantine.ts';
import { fetchRefs, isOfSession } from './fetch-refs.ts';
import { baseHint, findSquashes, readCommits, type FoundCommit } from './check-change.ts';

const maxTries = 10;

export interface CarryRequest {
  /** Without a base, only the head itself. */
  range: { base: string | undefined; head: string };
  remote: string;
  signal: AbortSignal;
}

export interface Carried {
  range: { base: Oid; head: Oid };
  /** The archives of the change's sessions on the remote; `isNew` when this call has made or moved them. */
  archives: { session: SessionId; archive: RefName; tip: Oid; isNew: boolean }[];
  notes: { commit: Oid; from: LandedFrom[]; isNew: boolean }[];
  /** The sessions of the change that the remote does not have, or whose archive has other commits. */
  lost: { session: SessionId; commit: Oid; reason: string }[];
}

/** A session that a commit of the change names, and the point up to which it came. */
interface Named extends LandedFrom {
  commit: Oid;
}

/** Everything that reaches the remote. */
interface CarryContext {
  project: Project;
  remote: string;
  signal: AbortSignal;
  newRef: () => RefName;
}

/** Throws UNKNOWN_COMMIT, UNKNOWN_REMOTE, REMOTE_CHANGED after ten lost races, and as `Remotes` does. */
export function carrySessions(project: Project, { range, remote, signal }: CarryRequest): Promise<Carried> {
  return withQuarantine(project, async (toRef) => {
    const { store } = project.repository;
    const head = await requireCommit(store, range.head, 'Name the commit that was pushed: `--head <commit>`.');
    const parent = (await store.readCommit(head)).parents[0] ?? head;
    const base = await requireCommit(store, range.base ?? parent, baseHint);
    let refs = 0;
    const context: CarryContext = { project, remote, signal, newRef: () => toRef((refs += 1)) };
    const carried: Carried = { range: { base, head }, archives: [], notes: [], lost: [] };
    const commits = await readCommits(store, base, head);
    const squashes = await findSquashes(store, { base, head }, commits);
    const sources = await findSources(context, commits, squashes);
    for (const { commit, session } of squashes)
      if (!sources.some(({ from }) => from.some((one) => one.session === session)))
        carried.lost.push({ session, commit, reason: 'no branch there gives this commit' });
    const named = [
      ...listNamed(commits),
      ...sources.flatMap(({ commit, from }) => from.map((one) => ({ ...one, commit }))),
    ];
    if (named.length > 0) await pushUntilDone(context, (listed) => planArchives(context, listed, named, carried));
    if (sources.length > 0) await pushUntilDone(context, (listed) => planNotes(context, listed, sources, carried));
    return carried;
  });
}

/** Lists the sessions that the commits' messages name: landings, and the newest entry of each merged session. */
function listNamed(commits: readonly FoundCommit[]): Named[] {
  const named = new Map<string, Named>();
  for (const { oid, entry, from } of commits) {
    if (entry !== null && !named.has(entry.session))
      named.set(entry.session, { session: entry.session, tip: oid, commit: oid });
    if (entry === null) for (const one of from) named.set(`${one.session}@${one.tip}`, { ...one, commit: oid });
  }
  return [...named.values()];
}

interface Source {
  commit: Oid;
  from: LandedFrom[];
}

/**
 * Finds the branches that squashes came from: the pull request in a subject such as `Add it (#7)`, the branches of the
 * sessions whose files it brings, and the branches that `teddy land --pr` has made. A branch counts only if merging it gives exactly the squash.
 */
async function findSources(
  context: CarryContext,
  commits: readonly FoundCommit[],
  squashes: readonly { commit: Oid; session: SessionId }[],
): Promise<Source[]> {
  const plain = commits.filter(
    ({ entry, from, commit }) => entry === null && from.length === 0 && commit.parents.length === 1,
  );
  const wanted = plain.flatMap((found) => {
    const number = /\(#(\d{1,9})\)$/.exec(found.commit.message.split('\n')[0] ?? '')?.[1];
    const sessions = squashes.filter(({ commit }) => commit === found.oid).map(({ session }) => session);
    const isSource = ({ ref }: RefTip) =>
      ref === `refs/pull/${number}/head` || sessions.some((session) => isOfSession(ref, session));
    return [{ found, isSource }];
  });
  if (wanted.length === 0) return [];
  const { refs } = await context.project.repository.remotes.list(context.remote, sourcePrefixes, context);
  const landed = refs
    .filter(({ ref }) => ref.startsWith(`refs/heads/${landingBranch('' as SessionId)}`))
    .slice(-maxLanded);
  const sources: Source[] = [];
  for (const { found, isSource } of wanted) {
    const tips = await fetchTips(context, [...refs.filter(isSource), ...landed]);
    const from = await findFrom(context.project, found, tips);
    if (from.length > 0) sources.push({ commit: found.oid, from });
  }
  return sources;
}

/** The newest branches of landings to try for each commit; their names begin with a date. */
const maxLanded = 20;

const sourcePrefixes = ['refs/heads/', archivePrefix, 'refs/pull/'];

/** Returns those of the refs that git accepts. */
async function fetchTips({ project, remote, ...context }: CarryContext, refs: readonly RefTip[]): Promise<RefTip[]> {
  return (await fetchRefs(project, remote, refs, context)).tips;
}

/** Returns the sessions of the first tip that gives the squash. */
async function findFrom(
  project: Project,
  { commit: { tree, parents } }: FoundCommit,
  tips: readonly RefTip[],
): Promise<LandedFrom[]> {
  const { store } = project.repository;
  const parent = parents[0] as Oid;
  for (const { oid: tip } of tips) {
    if ((await mergeCommits(store, parent, tip)) !== tree) continue;
    const entry = await findNearestEntry(project, tip);
    if (entry !== null && !(await store.isAncestor(entry.oid, parent))) return [{ session: entry.entry.session, tip }];
    const landings = await store.findReachable(landingText, tip, [parent]);
    const messages = await Promise.all(landings.map(async (oid) => (await store.readCommit(oid)).message));
    return messages.flatMap(decodeLandings);
  }
  return [];
}

type Plan = (listed: readonly RefTip[]) => Promise<RefUpdate[]>;

/** Plans and pushes again as long as somebody else is faster. */
async function pushUntilDone({ project, remote, signal }: CarryContext, plan: Plan): Promise<void> {
  const { remotes } = project.repository;
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const { refs } = await remotes.list(remote, ['refs/heads/', archivePrefix, notesRef], { signal });
    const updates = await plan(refs);
    if (updates.length === 0 || (await remotes.push(remote, updates, { signal })) === 'done') return;
  }
  const message = `${remote} changed during each of ${maxTries} tries.`;
  throw new TeddyError('REMOTE_CHANGED', message, 'Run the command again.');
}

async function planArchives(
  context: CarryContext,
  listed: readonly RefTip[],
  named: readonly Named[],
  carried: Carried,
): Promise<RefUpdate[]> {
  const updates = new Map<RefName, RefUpdate>();
  const lost = carried.lost.filter(({ commit }) => !named.some((one) => one.commit === commit));
  carried.archives = [];
  for (const { session, tip, commit } of named) {
    const tips = await fetchTips(
      context,
      listed.filter(({ ref }) => isOfSession(ref, session)),
    );
    const found = await planArchive(context, { session, tip }, tips);
    if (typeof found === 'string') lost.push({ session, commit, reason: found });
    else {
      const { ref: archive, old, new: oid } = found;
      const isNew = old !== oid;
      if (isNew) updates.set(archive, found);
      if (!carried.archives.some((one) => one.archive === archive))
        carried.archives.push({ session, archive, tip: oid as Oid, isNew });
    }
  }
  carried.lost = lost;
  return [...updates.values()];
}

/** Plans to archive the line that has this tip. Returns a reason when there is none. */
async function planArchive(
  { project }: CarryContext,
  { session, tip }: LandedFrom,
  tips: readonly RefTip[],
): Promise<RefUpdate | string> {
  const { store } = project.repository;
  const isHere = (await store.resolve(tip)) !== null;
  const holds = async (oid: Oid) => isHere && (await isOnLine(store, oid, tip));
  const branches = tips.filter(({ ref }) => ref.startsWith('refs/heads/'));
  const archives = tips.filter(({ ref }) => ref.startsWith(archivePrefix));
  let line: RefTip | null = null;
  for (const one of branches) if (line === null && (await holds(one.oid))) line = one;
  if (line === null) {
    for (const { ref, oid } of archives) if (await holds(oid)) return { ref, old: oid, new: oid };
    // A merge has brought the session itself, or its branch is gone and the pull request still has it.
    const isOwn = isHere && (await findNearestEntry(project, tip))?.entry.session === session;
    if (!isOwn) return `the remote does not have it as far as ${tip.slice(0, 10)}`;
    line = { ref: mainLineRef(session), oid: tip };
  }
  const archive = archiveRef(line.ref);
  const old = archives.find(({ ref }) => ref === archive)?.oid ?? null;
  if (old !== null && (await isOnLine(store, old, line.oid))) return { ref: archive, old, new: old };
  if (old !== null && !(await isOnLine(store, line.oid, old))) return `${archive} has other commits`;
  return { ref: archive, old, new: line.oid };
}

/** Adds the notes to the remote's newest ones. */
async function planNotes(
  context: CarryContext,
  listed: readonly RefTip[],
  sources: readonly Source[],
  carried: Carried,
): Promise<RefUpdate[]> {
  const { project, remote, signal, newRef } = context;
  const ref = newRef();
  const old = listed.find((one) => one.ref === notesRef)?.oid ?? null;
  if (old !== null) await project.repository.remotes.fetch(remote, [{ from: notesRef, to: ref }], { signal });
  carried.notes = [];
  for (const { commit, from } of sources) {
    const lines = from.map(({ session, tip }) => `${landingText}${session}@${tip}`);
    carried.notes.push({ commit, from, isNew: await addNoteLines(project, ref, commit, lines) });
  }
  const made = await project.repository.store.resolve(ref);
  return made === null || made === old ? [] : [{ ref: notesRef, old, new: made }];
}
