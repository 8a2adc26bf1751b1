/** Brings lines that landings name from the remotes that have them. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { archivePrefix, type RefName } from '../../names.ts';
import type { LandedFrom } from '../../session/landing.ts';
import { hideCredentials } from '../../session/hide-credentials.ts';
import { fetchHonest } from '../sharing/fetch-honest.ts';
import { parseShared } from '../sharing/shared-refs.ts';

export interface LineFetcher {
  /** Returns those of `wanted` that are neither here nor on a remote, each with the reason. */
  requireTips(wanted: readonly LandedFrom[]): Promise<ReadonlyMap<LandedFrom, string>>;
  /** Brings what remotes have of the lines of these sessions. Returns what kept it from doing so, in sentences. */
  fetch(sessions: readonly LandedFrom[]): Promise<string[]>;
}

/** Each ref that comes gets a name of `newRef`; no other ref moves. Both throw INTERRUPTED. */
export function lineFetcher(project: Project, newRef: () => RefName, signal: AbortSignal): LineFetcher {
  const { remotes, store } = project.repository;
  const asked = new Map<string, string[]>();

  async function fetchFrom(remote: string, wanted: readonly LandedFrom[]): Promise<string[]> {
    const { refs } = await remotes.list(remote, ['refs/heads/', archivePrefix], { signal });
    const found = refs.filter(({ ref, oid }) =>
      wanted.some(({ session, tip }) => oid === tip || parseShared(ref)?.session === session),
    );
    const pairs = found.map(({ ref }) => ({ from: ref, to: newRef() }));
    const refused = await fetchHonest(project, remote, pairs, { signal });
    return refused.map(({ ref, reason }) => `${ref} of ${hideCredentials(remote)} was not taken: ${reason}`);
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

/** The remote for sessions first. */
async function listRemotes({ repository: { remotes }, settings }: Project): Promise<string[]> {
  const names = await remotes.names();
  const ofSessions = await settings.get('sessionsRemote');
  const rank = (name: string) => (name === ofSessions ? 0 : name === 'origin' ? 1 : 2);
  return names.toSorted((a, b) => rank(a) - rank(b));
}
