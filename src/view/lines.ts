/**
 * Reads several of a session's lines in one walk: each commit once, and the points where the lines branch off from each
 * other.
 */
import type { Oid, SessionId } from '../names.ts';
import type { SessionStore } from '../ports/git.ts';
import { isStartOf } from '../session/entries/logged-entry.ts';
import { toStep, type Step } from './session.ts';

/** The part of a line that no earlier line shares. */
export interface OwnPart<Line> {
  line: Line;
  /** Oldest first; empty when an earlier line contains all of it. */
  steps: Step[];
  /** The point where the line branches off from an earlier one; null at the beginning of the session's available history. */
  leaves: { commit: Oid; part: OwnPart<Line> } | null;
  /** The commit before the part's first step. */
  below: Oid | null;
  /** True when the part's first step is the session's start. */
  hasStart: boolean;
}

/**
 * Returns the parts in the order of `lines`. Omits a line that has a session line's name but none of the session's
 * entries. Throws GIT_FAILED when a commit is missing.
 */
export async function readLines<Line extends { tip: Oid }>(
  store: Pick<SessionStore, 'firstParentsOf'>,
  session: SessionId,
  lines: readonly Line[],
): Promise<OwnPart<Line>[]> {
  const walked = await walkLines(
    store,
    lines.map(({ tip }) => ({ session, tip })),
  );
  const owners = new Map<Oid, OwnPart<Line>>();
  const parts: OwnPart<Line>[] = [];
  for (const line of lines) {
    const all = takeLine(walked, { session, tip: line.tip });
    const shared = all.findLastIndex(({ commit }) => owners.has(commit)) + 1;
    const steps = all.slice(shared);
    const below = all[shared - 1]?.commit ?? steps[0]?.parent ?? null;
    const hasStart = steps[0] !== undefined && isStartOf(steps[0], session);
    const from = hasStart || below === null ? undefined : owners.get(below);
    if (from === undefined && !steps.some(({ entry }) => entry?.session === session)) continue;
    const leaves = from === undefined || below === null ? null : { commit: below, part: from };
    const part = { line, steps, leaves, below, hasStart };
    for (const { commit } of steps) owners.set(commit, part);
    parts.push(part);
  }
  return parts;
}

/** Picks a line's steps in its session from the walked steps, oldest first. */
export function takeLine(walked: ReadonlyMap<Oid, Step>, { session, tip }: { session: SessionId; tip: Oid }): Step[] {
  const steps: Step[] = [];
  for (let step = walked.get(tip); step !== undefined;) {
    steps.push(step);
    step = isStartOf(step, session) || step.parent === null ? undefined : walked.get(step.parent);
  }
  return steps.reverse();
}

/**
 * Walks lines of any number of sessions together, each back to its session's start, and reads every commit only once;
 * lists a commit before its parent. Throws GIT_FAILED when a commit is missing.
 */
export async function walkLines(
  store: Pick<SessionStore, 'firstParentsOf'>,
  lines: readonly { session: SessionId; tip: Oid }[],
): Promise<Map<Oid, Step>> {
  const walked = new Map<Oid, Step>();
  const waiting = new Map<Oid, Set<SessionId>>();
  const wait = (oid: Oid, session: SessionId) =>
    waiting.set(oid, (waiting.get(oid) ?? new Set<SessionId>()).add(session));
  for (const { session, tip } of lines) wait(tip, session);
  // If a clock was wrong, git may list a commit before one of its descendants; the next walk then begins at that
  // commit.
  while (waiting.size > 0)
    for await (const commit of store.firstParentsOf([...waiting.keys()])) {
      const sessions = waiting.get(commit.oid);
      if (sessions === undefined) continue;
      waiting.delete(commit.oid);
      const step = toStep(commit);
      walked.set(step.commit, step);
      if (step.parent !== null)
        for (const session of sessions) if (!isStartOf(step, session)) wait(step.parent, session);
      if (waiting.size === 0) break;
    }
  return walked;
}
