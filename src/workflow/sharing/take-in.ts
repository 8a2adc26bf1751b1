/** Fetches a remote's lines into quarantine, has them checked, and moves the local lines to the fetched lines that passed. */
import { exitCodes, TeddyError } from '../../errors.ts';
import type { RefUpdate } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import {
  archiveRef,
  mainLineRef,
  notesCopyRef,
  notesRef,
  parseLineRef,
  shortRef,
  type RefName,
  type SessionId,
} from '../../names.ts';
import { cutBeforeStart, cutOffError } from '../line/session-start.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { applyMoves, type AppliedMoves } from './apply-moves.ts';
import type { ChosenRemote } from './choose-remote.ts';
import { planMoves, readStandings, type Move, type StandingTips } from './plan-moves.ts';
import type { IncomingRef, RefusedRef } from './check-incoming.ts';
import { clearQuarantine, withQuarantine } from '../line/quarantine.ts';
import { moveRefs } from '../line/move-refs.ts';
import { toSharedLine, type ShareRequest, type SharedLine } from './shared-line.ts';
import {
  listRefsHere,
  toSharedTips,
  toTracking,
  type Scope,
  type SharedTips,
  type TransferSides,
} from './shared-refs.ts';

const maxAttempts = 10;
const maxTries = 3;

export interface Source extends Pick<TransferSides, 'remote' | 'listed' | 'here'> {
  scope: Scope;
}

export interface TakenIn {
  lines: SharedLine[];
  /** The lines' tips after the transfer, without the refused lines. */
  tips: SharedTips[];
  notes: string[];
}

export async function receiveBranches(project: Project, source: Source, request: ShareRequest): Promise<TakenIn> {
  await clearQuarantine(project, source.here);
  const before = toSharedTips(source, source.scope);
  const incoming = before.filter(({ local, remote }) => remote !== null && remote !== local);
  const taken = await (incoming.length === 0
    ? moveLines(project, source, { refused: [], known: before }, request)
    : withQuarantine(project, (toRef) => takeChecked(project, source, incoming, toRef, request)));
  if (request.dryRun === true) return taken;
  await packMany(project, taken);
  return { ...taken, notes: [...taken.notes, ...(await copyNotes(project, source, request))] };
}

/**
 * Copies the remote's notes on squashes to a ref of their own, as a remote-tracking branch copies a branch, so that
 * nothing touches this repository's notes. A failure is a note for the user, because the lines are here already.
 */
async function copyNotes(project: Project, { remote, listed }: Source, request: ShareRequest): Promise<string[]> {
  const there = listed.find(({ ref }) => ref === notesRef)?.oid ?? null;
  const copy = notesCopyRef(remote.name);
  const { store } = project.repository;
  if (there === null || !remote.isConfigured || (await store.readRef(copy)) === there) return [];
  try {
    return await withQuarantine(project, async (toRef) => {
      const { fetchVerified } = await import('./fetch-verified.ts');
      const [refused] = await fetchVerified(project, remote.name, [{ from: notesRef, to: toRef(0) }], request);
      if (refused !== undefined) return [`${notesRef} was refused: ${refused.reason}`];
      const [old, arrived] = [await store.readRef(copy), await store.readRef(toRef(0))];
      await moveRefs(project, [{ ref: copy, old, new: arrived }], 'copy notes');
      return [];
    });
  } catch (error) {
    if (!(error instanceof TeddyError) || error.exitCode === exitCodes.INTERRUPTED) throw error;
    return [`${notesRef} could not be fetched: ${error.message}`];
  }
}

/** From this many new refs on, git is slower with one file per ref. */
const bulk = 1000;

export async function packMany(
  { repository: { store }, notices }: Pick<Project, 'repository' | 'notices'>,
  { lines }: Pick<TakenIn, 'lines'>,
): Promise<void> {
  const made = lines.filter(({ did }) => did.includes('made'));
  if (made.length < bulk) return;
  // The lines have been created; git can pack them another time.
  await store.packRefs(made.map(({ ref }) => ref)).catch((error: Error) => {
    notices.warn(`The new refs could not be packed, which only makes git slower: ${error.message}`);
  });
}

/**
 * Fetches and checks the lines. `git fetch` treats an unreachable object as present, although a concurrent `git gc` may
 * drop it. When a line lacks an object, checks it once more, then fetches everything. The fetched refs stay in
 * quarantine until the end, or the next gc would drop more.
 */
async function takeChecked(
  project: Project,
  source: Source,
  incoming: readonly SharedTips[],
  toRef: (index: number) => RefName,
  request: ShareRequest,
): Promise<TakenIn> {
  for (let tries = 1; ; tries += 1) {
    const isWhole = tries === maxTries;
    const toOwn = (index: number) => toRef(tries * incoming.length + index);
    const refused = await fetchAndCheck(project, source, incoming, toOwn, { ...request, isWhole });
    if (!isWhole && refused.some(({ isUnread }) => isUnread === true)) continue;
    const taken = await moveLines(project, withoutRefused(source, refused), { refused, known: null }, request);
    const kept = incoming.flatMap((tips) => toRefusedLine(source, tips, refused));
    return { ...taken, lines: [...taken.lines, ...kept] };
  }
}

async function fetchAndCheck(
  project: Project,
  { remote }: Source,
  incoming: readonly SharedTips[],
  toRef: (index: number) => RefName,
  request: ShareRequest & { isWhole: boolean },
): Promise<RefusedRef[]> {
  const wanted = incoming.map(({ ref }, at) => ({ from: ref, to: toRef(at) }));
  const { signal, onProgress, isWhole } = request;
  const { fetchVerified } = await import('./fetch-verified.ts');
  const unfit = (await fetchVerified(project, remote.name, wanted, { signal, onProgress, isWhole })).map((one) => ({
    ...one,
    violations: [],
  }));
  const arrived = await readArrived(project, incoming, unfit, toRef);
  const { checkIncoming } = await import('./check-incoming.ts');
  const { accepted, refused } = await checkIncoming(project, arrived, {
    signal,
    onProgress: (done, total) => onProgress?.({ phase: 'Checking lines', done, total }),
  });
  // teddy refuses a line that was not accepted explicitly.
  const unjudged = arrived.filter(({ ref }) => !accepted.includes(ref) && !isAmong(refused, ref));
  return [...unfit, ...refused, ...unjudged.map(({ ref }) => ({ ref, reason: 'it was not checked', violations: [] }))];
}

function isAmong(refused: readonly RefusedRef[], ref: RefName): boolean {
  return refused.some((one) => one.ref === ref);
}

/**
 * Throws REMOTE_CHANGED when the remote moved between the listing and the fetch, because the decision was about the
 * listed tips.
 */
async function readArrived(
  project: Project,
  incoming: readonly SharedTips[],
  unfit: readonly RefusedRef[],
  toRef: (index: number) => RefName,
): Promise<IncomingRef[]> {
  const prefix = toRef(0).replace(/[^/]+$/, '');
  const held = new Map((await project.repository.store.listRefs(prefix)).map(({ ref, oid }) => [ref, oid]));
  return incoming.flatMap(({ ref, remote, local, session }, at) => {
    if (isAmong(unfit, ref)) return [];
    const tip = held.get(toRef(at));
    if (tip === undefined || tip !== remote)
      throw new TeddyError(
        'REMOTE_CHANGED',
        `${shortRef(ref)} moved on the remote while it was being fetched.`,
        'Somebody else is pushing; run the command again.',
      );
    return [{ ref, tip, local, session }];
  });
}

/** Omits the refused lines, so that they change nothing here. */
function withoutRefused(source: Source, refused: readonly RefusedRef[]): Source {
  return { ...source, listed: source.listed.filter(({ ref }) => !isAmong(refused, ref)) };
}

/** `known` contains the tips if teddy has fetched nothing since it read them. */
async function moveLines(
  project: Project,
  source: Source,
  { refused, known }: { refused: readonly RefusedRef[]; known: SharedTips[] | null },
  { dryRun = false }: ShareRequest,
): Promise<TakenIn> {
  const { store } = project.repository;
  const lines = new Map<RefName, SharedLine>();
  const read = async () => {
    const tips = toSharedTips({ ...source, here: await listRefsHere(store) }, source.scope);
    const namesakes = listNamesakes(refused);
    // If the remote has another session with that name, a push would send it lines that do not belong to its session.
    return tips.filter(({ ref, session }) => !isAmong(refused, ref) && (session === null || !namesakes.has(session)));
  };
  let tips = known ?? (await read());
  for (let attempt = 1; ; attempt += 1) {
    const standings = await readStandings(project, tips);
    for (const one of standings) noteStanding(lines, one);
    const { moves, notes } = await planMoves(project, standings, source.listed);
    const tracking = toTrackingUpdates(source.remote, standings);
    // The attributes must be in place before git checks out any of a session's files here.
    if (!dryRun && moves.length > 0) await project.repository.installAttributes();
    const applied = await applyMoves(project, moves, tracking, dryRun);
    if (applied !== null) noteMoves(lines, applied);
    if (moves.length > 0 || tracking.length > 0) tips = await read();
    const isSettled = applied !== null && !applied.held.some(({ problem }) => problem.code === 'REF_MOVED');
    if (isSettled || (applied !== null && attempt === maxAttempts)) return { lines: [...lines.values()], tips, notes };
    if (attempt === maxAttempts)
      throw new TeddyError(
        'REF_MOVED',
        `Local branches moved ${maxAttempts} times during the pull.`,
        'Another program is changing them; run the command again.',
      );
  }
}

/** Reports a line that somebody else has moved at its new tip, without a problem. */
function noteStanding(lines: Map<RefName, SharedLine>, one: StandingTips): void {
  const line = lines.get(one.ref);
  if (line === undefined) lines.set(one.ref, toSharedLine(one));
  else if (line.problem?.code === 'REF_MOVED') Object.assign(line, { local: one.local, problem: null });
}

function noteMoves(lines: Map<RefName, SharedLine>, { done, held }: AppliedMoves): void {
  for (const move of done) {
    const line = lines.get(move.ref);
    if (line === undefined) continue;
    line.did.push(move.kind);
    line.local = move.new;
    line.tail = move.tail?.ref ?? line.tail;
    line.problem = null;
    addTail(lines, line, move);
  }
  for (const { move, problem } of held) {
    const line = lines.get(move.ref);
    if (line !== undefined) line.problem = problem;
  }
}

function addTail(lines: Map<RefName, SharedLine>, { session }: SharedLine, { tail, old }: Move): void {
  if (tail === null || !tail.isNew) return;
  const tips = { ref: tail.ref, session, local: old, remote: null, standing: 'only-local' as const };
  lines.set(tail.ref, { ...tips, did: ['made'], tail: null, problem: null, violations: [] });
}

/**
 * Updates the tracking refs as `git fetch` does. Drops a ref that the remote no longer has when nothing here depends on
 * it.
 */
function toTrackingUpdates(remote: ChosenRemote, lines: readonly StandingTips[]): RefUpdate[] {
  return lines.flatMap(({ ref, known, remote: tip, local }) => {
    const tracked = toTracking(remote, ref);
    const isForgotten = tip === null && local === null;
    if (tracked === null || known === tip || (tip === null && !isForgotten)) return [];
    return [{ ref: tracked, old: known, new: tip }];
  });
}

function toRefusedLine({ remote }: Source, tips: SharedTips, refused: readonly RefusedRef[]): SharedLine[] {
  const found = refused.find(({ ref }) => ref === tips.ref);
  if (found === undefined) return [];
  const line = toSharedLine({ ...tips, standing: tips.local === null ? 'only-remote' : 'pull' });
  const isTwin = found.isNamesake === true && tips.session !== null && listNamesakes(refused).has(tips.session);
  const problem = isTwin ? toNamesake(remote, tips) : toHostile(remote, tips, found);
  return [{ ...line, problem, violations: found.violations }];
}

/**
 * Lists sessions that have another main line on the remote. A conflicting conversation branch alone does not block a
 * whole session.
 */
function listNamesakes(refused: readonly RefusedRef[]): Set<SessionId> {
  return new Set(
    refused.flatMap(({ ref, isNamesake }) => {
      const line = parseLineRef(ref);
      return isNamesake === true && line !== null && line.branch === null ? [line.session] : [];
    }),
  );
}

/** Never advises anyone to undo published commits, because others may have built on them. */
function toHostile({ label }: ChosenRemote, { ref }: SharedTips, { reason, violations }: RefusedRef): TeddyError {
  if (reason === cutBeforeStart) return cutOffError(`${shortRef(ref)} from ${label} cannot be accepted`);
  const look = `To look at it: \`git fetch ${toShellWord(label)} ${ref} && teddy verify FETCH_HEAD\`. `;
  return new TeddyError(
    'HOSTILE_SESSION',
    `${shortRef(ref)} from ${label} was refused: it fails the checks (${reason.replace(/\.$/, '')}).`,
    `None of it was stored here. ${violations.length === 0 ? '' : look}Ask whoever pushed it.`,
  );
}

function toNamesake({ label }: ChosenRemote, { ref, session, local, archived }: SharedTips): TeddyError {
  // A custom-named line is archived under its session's name.
  const archive = archiveRef(session === null || parseLineRef(ref) !== null ? ref : mainLineRef(session));
  const name = `${session?.slice('20260124-'.length)}-2`;
  const begun = `git branch -m teddy/${session} ${name}-begun`;
  const steps = [
    ...(local === null ? [] : [`git switch teddy/${session}`, `teddy new ${name}`, begun]),
    ...(archived.local === null ? [] : [`git branch ${name}-kept ${archive}`, `git update-ref -d ${archive}`]),
  ];
  return new TeddyError(
    'BRANCH_IN_THE_WAY',
    `${shortRef(ref)} from ${label} was refused: a different session here has the same name.`,
    `Rename yours: ${steps.map((step) => `\`${step}\``).join(', ')}, and likewise each branch \`teddy/${session}--...\` here. Then run the command again.`,
  );
}
