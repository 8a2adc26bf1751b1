/** Reads several lines of a session by one walk: each commit once, and where the lines leave each other. */
import type { Oid, SessionId } from '../names.ts';
import type { SessionStore } from '../ports/git.ts';
import { isStartOf } from '../session/logged-entry.ts';
import { toStep, type Step } from './session.ts';

/** A line as far as no line before it has its commits. */
export interface OwnPart<Line> {
  line: Line;
  /** Oldest first; empty when a line before it has all of it. */
  steps: Step[];
  /** Where it leaves a line before it; null: it begins the session, or what is known of it. */
  leaves: { commit: Oid; part: OwnPart<Line> } | null;
  /** The commit before the first of its steps. */
  below: Oid | null;
  /** Its first step is the start of the session. */
  hasStart: boolean;
}

/**
 * In order of `lines`. One that holds nothing of the session is only named like a line of it, and is left out. Throws GIT_FAILED where
 * a commit is missing.
 */
export async function readLines<Line extends { tip: Oid }>(
  store: Pick<SessionStore, 'firstParentsOf'>,
  session: SessionId,
  lines: readonly Line[],
): Promise<OwnPart<Line>[]> {
  const walked = await walk(store, session, [...new Set(lines.map(({ tip }) => tip))]);
  const owners = new Map<Oid, OwnPart<Line>>();
  const parts: OwnPart<Line>[] = [];
  for (const line of lines) {
    const steps: Step[] = [];
    let below: Oid | null = line.tip;
    while (below !== null && !owners.has(below)) {
      const step = walked.get(below);
      if (step === undefined) break;
      steps.push(step);
      below = step.parent;
      if (isStartOf(step, session)) break;
    }
    steps.reverse();
    const isBegun = steps[0] !== undefined && isStartOf(steps[0], session);
    const from = isBegun || below === null ? undefined : owners.get(below);
    if (from === undefined && !steps.some(({ entry }) => entry?.session === session)) continue;
    const leaves = from === undefined || below === null ? null : { commit: below, part: from };
    const part = { line, steps, leaves, below, hasStart: isBegun };
    for (const { commit } of steps) owners.set(commit, part);
    parts.push(part);
  }
  return parts;
}

/** Walks as far as the start of the session. */
async function walk(
  store: Pick<SessionStore, 'firstParentsOf'>,
  session: SessionId,
  tips: readonly Oid[],
): Promise<Map<Oid, Step>> {
  const [walked, waiting] = [new Map<Oid, Step>(), new Set(tips)];
  for await (const commit of store.firstParentsOf(tips)) {
    const step = toStep(commit);
    waiting.delete(step.commit);
    walked.set(step.commit, step);
    if (step.parent !== null && !isStartOf(step, session) && !walked.has(step.parent)) waiting.add(step.parent);
    if (waiting.size === 0) break;
  }
  return walked;
}
