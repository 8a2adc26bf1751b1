/** Finds the session to use when HEAD is not on a session's branch and the user names none: the user's newest open session. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { decodeLandings, landingText } from '../../session/lines/landing.ts';
import { isTurnName, sessionDir, shortRef, type Oid, type SessionId } from '../../names.ts';
import { listArchives } from '../../session/lines/archives.ts';
import { findNotedLine } from './noted-landings.ts';
import { findPlanned } from '../../view/view.ts';
import { isOnLine } from '../../session/entries/ancestry.ts';
import { isOnlyVerdictsSince, hasSameCode, readBaseTips } from '../../session/lines/find-landed.ts';
import { toMainLines, type MainLine } from '../../session/lines/main-lines.ts';
import { readStarts } from '../../session/lines/session-starts.ts';
import { listLines, readBaseStart, type BaseStart, type KnownLine } from '../../session/lines/lines.ts';

/**
 * Returns the newest local line of teddy's own sessions that has not landed in its present state; a session without
 * turns is open. Uses other agents' sessions only by name, or when HEAD is on them. Pass `lines` if the caller has just
 * listed them. Throws NO_OPEN_SESSION, and UNKNOWN_SESSION when there is no session at all.
 */
export async function findOpenLine(project: Project, lines?: readonly KnownLine[]): Promise<KnownLine> {
  const sessions = toMainLines(lines ?? (await listLines(project)), project.clock.now());
  const starts = await readStarts(project, sessions);
  const others: string[] = [];
  for (const { session, own, remote, others: beside } of sessions.toReversed()) {
    const agent = starts.get(session)?.agent ?? null;
    if (agent !== null) {
      others.push(`${session} (of ${agent})`);
      continue;
    }
    const open = own === null ? null : await findOpenBranch(project, own, beside);
    if (open !== null) return open;
    others.push(`${session} (${own === null ? `only on ${remote}` : 'landed'})`);
  }
  throw await noOpenSessionError(project, sessions, others);
}

/**
 * Returns the branch to continue. When one of a session's branches has landed, the session is open only for a plan that
 * waits on another branch.
 */
async function findOpenBranch(
  project: Project,
  own: KnownLine,
  beside: readonly KnownLine[],
): Promise<KnownLine | null> {
  for (const line of [own, ...beside])
    if (await hasLandedAsItStands(project, line)) return (await findPlanned(project, [own, ...beside]))[0] ?? null;
  return own;
}

/**
 * Returns true if the session's base branch, or a default branch, contains everything on the line, as its commits or a
 * true note say. `bases` replaces these branches; notes then do not count.
 */
export async function hasLandedAsItStands(
  project: Project,
  { oid, session, nearest }: Pick<KnownLine, 'oid' | 'session' | 'nearest'>,
  bases?: readonly Oid[],
): Promise<boolean> {
  const { store } = project.repository;
  const line = { oid, session, nearest };
  const dir = await store.readDir(nearest.oid, sessionDir(session));
  if (dir?.entries.some(({ name }) => isTurnName(name)) !== true) return false;
  const start = await findBaseStart(project, nearest);
  // A branch that has not moved since the session began contains none of its commits, so there is no need to ask git.
  const before = start === null ? undefined : (await store.readCommit(start.oid)).parents[0];
  const tips = bases ?? (await listBaseTips(project, session, start));
  for (const base of tips) {
    if (base === before) continue;
    if (await store.isAncestor(oid, base)) return true;
    const found = await store.findReachable(`${landingText}${session}@`, base, [oid]);
    for (const landing of found) {
      const landings = decodeLandings((await store.readCommit(landing)).message);
      for (const { tip } of landings.filter((one) => one.session === session))
        if (
          tip === oid ||
          ((await store.resolve(tip)) !== null && (await isOnLine(store, tip, oid))) ||
          (await isOnlyVerdictsSince(project, line, tip))
        )
          return true;
    }
  }
  return bases === undefined && (await findNotedLine(project.repository, line, tips)) !== null;
}

/** Returns a session's newest other branch with code that has not landed, or null. */
export async function findOtherWithCode(
  project: Project,
  { session, ref }: Pick<KnownLine, 'session' | 'ref'>,
): Promise<KnownLine | null> {
  const lines = (await listLines(project)).filter((one) => one.session === session && one.remote === null);
  const newest = lines.toSorted((a, b) => (a.nearest.entry.id < b.nearest.entry.id ? 1 : -1));
  for (const line of newest)
    if (line.ref !== ref && (await differsFromStart(project, line)) && !(await hasLandedAsItStands(project, line)))
      return line;
  return null;
}

/**
 * Returns true if a line has anything to land: code that differs from where it began, or the undo of something that has
 * landed.
 */
export async function hasCodeToLand(project: Project, line: Pick<KnownLine, 'oid' | 'nearest'>): Promise<boolean> {
  if (await differsFromStart(project, line)) return true;
  const { session } = line.nearest.entry;
  for (const base of await listBaseTips(project, session, await findBaseStart(project, line.nearest)))
    if ((await project.repository.store.findReachable(`${landingText}${session}@`, base, [])).length > 0) return true;
  return false;
}

async function differsFromStart(
  project: Project,
  { oid, nearest }: Pick<KnownLine, 'oid' | 'nearest'>,
): Promise<boolean> {
  const { entry, oid: from } = nearest;
  const start = (await readStarts(project, [{ ...entry, oid: from }])).get(entry.session);
  return start === undefined || !(await hasSameCode(project.repository.store, start.oid, oid));
}

/** Returns where a session started; does not walk a long line when the start is already cached. */
export async function findBaseStart(project: Project, { oid, entry }: KnownLine['nearest']): Promise<BaseStart | null> {
  const start = (await readStarts(project, [{ ...entry, oid }])).get(entry.session);
  if (start === undefined || start.branch === null) return readBaseStart(project, oid);
  return { branch: start.branch, oid: start.oid };
}

async function listBaseTips(project: Project, session: SessionId, start: BaseStart | null): Promise<Oid[]> {
  const starts = new Map(start === null ? [] : [[session, { ...start, agent: null }] as const]);
  const { usual, own } = await readBaseTips(project, [{ session }], starts);
  return [...new Set([...[...own.values()].flat(), ...usual])];
}

async function noOpenSessionError(
  { repository: { store, workspace } }: Project,
  sessions: readonly MainLine[],
  others: readonly string[],
): Promise<TeddyError> {
  const kept = (await listArchives(store)).map(({ session }) => session);
  const archived = [...new Set(kept)]
    .filter((session) => !sessions.some((one) => one.session === session))
    .map((session) => `${session} (archived)`);
  const [first, ...rest] = [...others, ...archived];
  if (first === undefined)
    return new TeddyError(
      'UNKNOWN_SESSION',
      'There is no session in this repository yet.',
      'Start one: `teddy new <name>`.',
    );
  const head = await workspace?.head();
  const place = head?.ref == null ? "HEAD is not on a session's branch" : `You are on ${shortRef(head.ref)}`;
  const some = [first, ...rest.slice(0, 3)].join(', ') + (rest.length > 3 ? `, and ${rest.length - 3} more` : '');
  return new TeddyError(
    'NO_OPEN_SESSION',
    `${place}, and you have no open session: ${some}.`,
    `Start one with \`teddy new <name>\`, or name one with \`-s ${first.split(' ')[0]}\`.`,
  );
}
