/** Checks a change's landings: the lines that they name, and that they contain exactly these lines' code. */
import type { Commit } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isOnLine } from '../../session/entries/ancestry.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';
import { listNewestTips, type LandedFrom } from '../../session/lines/landing.ts';
import { listLines } from '../../session/lines/lines.ts';
import type { Rule, VerifiedLine } from '../../session/entries/violation.ts';
import { type Oid, type RefName, archivePrefix } from '../../names.ts';
import type { RecordedLine } from '../line/find-recorded.ts';
import { withQuarantine } from '../line/quarantine.ts';
import { verifyLine, type VerifyOptions } from '../verify/line.ts';
import type { CheckedLanding } from './ci.ts';
import { compareLanding, findEarlier } from './compare-landing.ts';
import { TeddyError } from '../../errors.ts';
import { hideCredentials } from '../../session/masks/urls.ts';
import { fetchRefs, isOfSession } from './fetch-refs.ts';

export interface LandingCommit {
  oid: Oid;
  commit: Commit;
  from: LandedFrom[];
}

export interface LandedLine {
  line: RecordedLine;
  verified: VerifiedLine;
}

type LandingOptions = Pick<VerifyOptions, 'signedBy' | 'requireApproval' | 'requirePromise'> & { signal: AbortSignal };

/**
 * Checks the landings. Fetches missing objects, and keeps them only while `use` runs: moves no refs except refs in
 * quarantine. Throws INTERRUPTED, and errors that say nothing about the change.
 */
export function checkLandings<Value>(
  project: Project,
  commits: readonly LandingCommit[],
  options: LandingOptions,
  use: (landings: CheckedLanding[], lines: LandedLine[]) => Promise<Value>,
): Promise<Value> {
  return withQuarantine(project, async (toRef) => {
    let refs = 0;
    const fetcher = lineFetcher(project, () => toRef((refs += 1)), options.signal);
    const missing = await fetcher.requireTips(commits.flatMap(({ from }) => from));
    const landings: CheckedLanding[] = [];
    const lines = new Map<string, LandedLine>();
    for (const landing of commits) {
      const { checked, earlier } = await checkLanding(project, landing, missing, fetcher);
      landings.push(checked);
      for (const one of landing.from) {
        const key = `${one.session}@${one.tip}`;
        if (missing.has(one) || lines.has(key)) continue;
        const name = `${one.session} (${one.tip.slice(0, 10)})`;
        const line = { session: one.session, name, ref: null, tip: one.tip, after: null };
        const later = { earlier, listLonger: () => listLonger(project, line, fetcher, toRef(0)) };
        lines.set(key, { line, verified: await verifyLanded(project, line, later, options) });
      }
    }
    return use(landings, [...lines.values()]);
  });
}

async function checkLanding(
  project: Project,
  { oid, commit, from }: LandingCommit,
  missing: ReadonlyMap<LandedFrom, string>,
  fetcher: LineFetcher,
): Promise<{ checked: CheckedLanding; earlier: Oid[] }> {
  const { store } = project.repository;
  const absent = from.filter((one) => missing.has(one));
  if (absent.length > 0) {
    const unproven = absent.map((one) => describeMissing(one, missing.get(one) ?? ''));
    return { checked: { commit: oid, from, faults: [], unproven, isUnseen: true }, earlier: [] };
  }
  const tips = await listNewestTips(store, from);
  const before = await findEarlier(store, commit, tips);
  const lost = await fetcher.requireTips(before);
  const earlier = before.filter((one) => !lost.has(one)).map(({ tip }) => tip);
  // The tips of other sessions need not be here, because the line builds on few of them.
  const isOwn = (one: LandedFrom) => from.some(({ session }) => session === one.session);
  const unknown = before.filter((one) => lost.has(one) && isOwn(one)).map(() => null);
  const compared = await compareLanding(store, { commit, tips, earlier: [...earlier, ...unknown] });
  const faults = [...(await findForeignTips(project, from)), ...compared.faults];
  return { checked: { commit: oid, from, faults, unproven: compared.unproven, isUnseen: false }, earlier };
}

function describeMissing({ session, tip }: LandedFrom, reason: string): string {
  return `${session} has not been pushed as far as ${tip.slice(0, 10)} (${reason}). Push the session: \`teddy push -s ${session}\``;
}

/** Finds commits that belong to a session other than the one that the landing names. */
async function findForeignTips(project: Project, from: readonly LandedFrom[]): Promise<CheckedLanding['faults']> {
  const found = await Promise.all(from.map(({ tip }) => findNearestEntry(project, tip)));
  return from.flatMap(({ session, tip }, at) => {
    const other = found[at]?.entry.session;
    if (other === session) return [];
    const whose = other === undefined ? 'that belongs to no session' : `that belongs to ${other}`;
    return { path: null, message: `The landing names ${session} at ${tip.slice(0, 10)}, which is a commit ${whose}.` };
  });
}

interface Surroundings {
  /** The line's earlier tips that the branch already contains. */
  earlier: readonly Oid[];
  listLonger(): Promise<{ tips: Oid[]; problems: string[] }>;
}

/** Verifies a line up to the point where it has landed. A later approval counts, and code that landed earlier needs none. */
async function verifyLanded(
  project: Project,
  line: RecordedLine,
  { earlier, listLonger: listThem }: Surroundings,
  options: LandingOptions,
): Promise<VerifiedLine> {
  const verified = await verifyLine(project, line, options);
  const [unapproved, unkept] = (['approval', 'promise'] as const).map((rule) => listBreaking(verified, rule)) as [
    Set<Oid>,
    Set<Oid>,
  ];
  for (const broken of [unapproved, unkept])
    for (const commit of broken)
      for (const tip of earlier) if (await project.repository.store.isAncestor(commit, tip)) broken.delete(commit);
  const { tips, problems } = unapproved.size === 0 ? { tips: [], problems: [] } : await listThem();
  for (const tip of tips) {
    const open = listBreaking(await verifyLine(project, { ...line, tip }, options), 'approval');
    for (const commit of unapproved) if (!open.has(commit)) unapproved.delete(commit);
  }
  const violations = verified.violations.filter(({ rule, commit }) =>
    rule === 'approval' ? unapproved.has(commit) : rule !== 'promise' || unkept.has(commit),
  );
  return { ...verified, violations, notes: [...verified.notes, ...problems] };
}

function listBreaking({ violations }: VerifiedLine, wanted: Rule): Set<Oid> {
  return new Set(violations.flatMap(({ rule, commit }) => (rule === wanted ? commit : [])));
}

/** Lists the tips of local and remote lines that continue this one. */
async function listLonger(
  project: Project,
  { session, tip }: RecordedLine,
  fetcher: LineFetcher,
  fetched: RefName,
): ReturnType<Surroundings['listLonger']> {
  const { store } = project.repository;
  const problems = await fetcher.fetch([{ session, tip }]);
  const known = (await listLines(project, { archived: true })).filter((one) => one.session === session);
  const arrived = await store.listRefs(fetched.replace(/[^/]+$/, ''));
  const tips = new Set([...known, ...arrived].map(({ oid }) => oid));
  tips.delete(tip);
  const isLonger = await Promise.all([...tips].map((oid) => isOnLine(store, oid, tip)));
  return { tips: [...tips].filter((_, at) => isLonger[at]), problems };
}

/** Fetches the lines that landings name from the remotes that have them. */
interface LineFetcher {
  /** Returns the tips in `wanted` that are neither here nor on a remote, each with the reason. */
  requireTips(wanted: readonly LandedFrom[]): Promise<ReadonlyMap<LandedFrom, string>>;
  /** Fetches the remotes' commits on these sessions' lines. Returns sentences that explain any failures. */
  fetch(sessions: readonly LandedFrom[]): Promise<string[]>;
}

/** Makes a fetcher. Each fetched ref gets a name from `newRef`; no other ref moves. Both methods throw INTERRUPTED. */
function lineFetcher(project: Project, newRef: () => RefName, signal: AbortSignal): LineFetcher {
  const { remotes, store } = project.repository;
  const asked = new Map<string, string[]>();

  async function fetchFrom(remote: string, wanted: readonly LandedFrom[]): Promise<string[]> {
    const { refs } = await remotes.list(remote, ['refs/heads/', archivePrefix], { signal });
    const found = refs.filter(({ ref, oid }) =>
      wanted.some(({ session, tip }) => oid === tip || isOfSession(ref, session)),
    );
    const { refused } = await fetchRefs(project, remote, found, { newRef, signal });
    return refused.map(({ ref, reason }) => `${ref} from ${hideCredentials(remote)} was not accepted: ${reason}`);
  }

  async function fetch(wanted: readonly LandedFrom[]): Promise<string[]> {
    const sessions = wanted.filter(({ session }) => !asked.has(session));
    const problems: string[] = [];
    for (const remote of sessions.length === 0 ? [] : await listRemotes(project)) {
      try {
        problems.push(...(await fetchFrom(remote, sessions)));
      } catch (error) {
        if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
        problems.push(error.message);
      }
    }
    for (const { session } of sessions) asked.set(session, problems);
    return [...new Set(wanted.flatMap(({ session }) => asked.get(session) ?? []))];
  }

  async function listMissing(wanted: readonly LandedFrom[]): Promise<LandedFrom[]> {
    const known = await Promise.all(wanted.map(({ tip }) => store.resolve(tip)));
    return wanted.filter((_, at) => known[at] === null);
  }

  return {
    fetch,
    async requireTips(wanted) {
      const missing = await listMissing(wanted);
      const problems = await fetch(missing);
      const reason = problems.length === 0 ? 'no remote has it' : problems.join(' ');
      return new Map((await listMissing(missing)).map((one) => [one, reason]));
    },
  };
}

/** Lists the sessions' remote first. */
async function listRemotes({ repository: { remotes }, settings }: Project): Promise<string[]> {
  const names = await remotes.names();
  const ofSessions = await settings.get('sessionsRemote');
  const rank = (name: string) => (name === ofSessions ? 0 : name === 'origin' ? 1 : 2);
  return names.toSorted((a, b) => rank(a) - rank(b));
}
