/** What becomes of each line here when what the remote has is taken: decided with values and git's answers, nothing moves. */
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RefName, SessionId } from '../../names.ts';
import { mergeRemoteGlobal } from './merge-remote-global.ts';
import { toTail, type Tail } from './move-tail.ts';
import { readAncestry, toStanding, type Standing } from './reconcile.ts';
import { readTakenRefs, type SharedTips } from './shared-refs.ts';

/** How a line here changes. `moved`: the remote's commits keep the name, and `tail` has what was only here. */
export interface Move {
  ref: RefName;
  old: Oid | null;
  new: Oid;
  kind: 'taken' | 'made' | 'merged' | 'moved';
  tail: Tail | null;
}

export interface StandingTips extends SharedTips {
  standing: Standing;
}

export async function readStandings(project: Project, tips: readonly SharedTips[]): Promise<StandingTips[]> {
  const contains = await readAncestry(project.repository.store, tips);
  return tips.map((one) => ({ ...one, standing: toStanding(one, contains) }));
}

/** `listed`: the remote's refs. `notes`: what a person should look at. */
export async function planMoves(
  project: Project,
  lines: readonly StandingTips[],
  listed: readonly RefTip[],
): Promise<{ moves: Move[]; notes: string[] }> {
  const { store } = project.repository;
  const diverged = lines.some(({ standing }) => standing === 'diverged');
  const taken = diverged ? await readTakenRefs(store, listed) : new Set<string>();
  const moves: Move[] = [];
  const notes: string[] = [];
  for (const line of lines) {
    const { ref, session, local, remote, standing } = line;
    if (remote === null) continue;
    const move = { ref, old: local, new: remote, tail: null };
    if (standing === 'pull') moves.push({ ...move, kind: 'taken' });
    if (standing === 'only-remote') moves.push({ ...move, kind: 'made' });
    if (standing !== 'diverged' || local === null) continue;
    if (session === null) {
      const merged = await mergeRemoteGlobal(project, local, remote);
      moves.push({ ...move, new: merged.commit, kind: 'merged' });
      notes.push(...merged.notes);
      continue;
    }
    const tail = await toTail(store, { ref, session, local, remote }, taken, findKeepers(lines, session));
    moves.push({ ...move, kind: 'moved', tail });
  }
  return { moves, notes };
}

const stays: ReadonlySet<Standing> = new Set(['same', 'push', 'only-local', 'gone', 'archived-there']);

/** Lines of a session that will surely be here, and where: one that still has to move may be held. */
function findKeepers(lines: readonly StandingTips[], session: SessionId): Map<RefName, Oid> {
  return new Map(
    lines.flatMap(({ ref, session: owner, local, remote, standing }) => {
      const tip = stays.has(standing) ? local : standing === 'only-remote' ? remote : null;
      return owner !== session || tip === null ? [] : [[ref, tip] as const];
    }),
  );
}
