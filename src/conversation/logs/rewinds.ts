/**
 * Finds a session's lines in a log with a forking conversation: the user went back and typed something else, or two
 * programs wrote to the session. Among the continuations of one position, the main line takes the one with the latest
 * words; the user abandoned the others.
 */
import type { AgentFork, AgentUnit } from './agent-log.ts';
import type { Attempt, ImportUnit, LogPath, Rewinds } from './importer.ts';

export interface RewindFinder {
  add(unit: AgentUnit): void;
  fork(fork: AgentFork): void;
  /** Returns null when the conversation never forks. */
  find(): Rewinds | null;
}

/** A branch of the log. `begun` is the number of units in its parent branch that precede the fork. */
interface Branch {
  leaves: { branch: number; begun: number } | null;
  /** For each unit: its last record's ID, its first record's line, and the line of its last words. */
  ends: string[];
  lines: number[];
  spoken: number[];
}

/** A piece of a branch without forks. Segments with the same `above` are alternative continuations of that segment. */
interface Segment {
  branch: number;
  from: number;
  to: number;
  above: number;
  /** The last line with words from the user or the model, here or below; a program's own words do not count. */
  latest: number;
}

/** `lineOf`: each record's line in the log. */
export function openRewindFinder(lineOf: ReadonlyMap<string, number>): RewindFinder {
  const branches: Branch[] = [{ leaves: null, ends: [], lines: [], spoken: [] }];
  return {
    add: ({ branch, records }) => {
      const own = branches[branch] as Branch;
      own.ends.push(records.at(-1)?.id ?? '');
      own.lines.push(lineOf.get(records.find(({ type }) => type === 'user')?.id ?? records[0]?.id ?? '') ?? 0);
      const words = records.filter(({ type }) => type !== 'note').map(({ id }) => lineOf.get(id) ?? 0);
      own.spoken.push(Math.max(0, ...words));
    },
    fork: ({ branch, leaves, after }) => {
      const begun = after === null ? 0 : (branches[leaves] as Branch).ends.lastIndexOf(after) + 1;
      branches[branch] = { leaves: { branch: leaves, begun }, ends: [], lines: [], spoken: [] };
    },
    find: () => findRewinds(branches),
  };
}

function findRewinds(branches: readonly Branch[]): Rewinds | null {
  const segments = cutSegments(branches);
  const winners = findWinners(segments);
  const isLost = ({ above }: Segment, at: number) => above !== -1 && winners.get(above) !== at;
  const firstLine = ({ branch, from }: Segment) => branches[branch]?.lines[from] ?? 0;
  const losers = segments
    .map((segment, at) => ({ segment, at }))
    .filter(({ segment, at }) => isLost(segment, at))
    .toSorted((one, other) => firstLine(one.segment) - firstLine(other.segment))
    .map(({ at }) => at);
  if (losers.length === 0) return null;
  const numberOf = new Map(losers.map((at, number) => [at, number]));
  // Each segment's attempt; null for the main path.
  const attemptOf: (number | null)[] = [];
  const paths = [new Map<number, number>(), ...losers.map(() => new Map<number, number>())];
  for (const [at, segment] of segments.entries()) {
    const attempt = numberOf.get(at) ?? attemptOf[segment.above] ?? null;
    attemptOf.push(attempt);
    const path = paths[attempt === null ? 0 : attempt + 1] as Map<number, number>;
    path.set(segment.branch, segment.to);
  }
  const attempts = losers.map((loser, number): Attempt => {
    const segment = segments[loser] as Segment;
    const path = paths[number + 1] as Map<number, number>;
    for (let at = segment.above; at !== -1; at = segments[at]?.above ?? -1) {
      const { branch, to } = segments[at] as Segment;
      path.set(branch, Math.max(path.get(branch) ?? 0, to));
    }
    return {
      line: firstLine(segment),
      begins: { branch: segment.branch, unit: segment.from },
      leaves: attemptOf[segment.above] ?? null,
      path,
    };
  });
  return { main: paths[0] as LogPath, attempts };
}

/** Cuts each branch at its forks; the segment `above` precedes a segment. */
function cutSegments(branches: readonly Branch[]): Segment[] {
  const cuts = branches.map(() => new Set<number>());
  for (const { leaves } of branches) if (leaves !== null) cuts[leaves.branch]?.add(leaves.begun);
  const segments: Segment[] = [];
  /** Segments by their end in the branch. */
  const endingAt = branches.map(() => new Map<number, number>());
  for (const [branch, { leaves, ends, spoken }] of branches.entries()) {
    let above = leaves === null ? -1 : (endingAt[leaves.branch]?.get(leaves.begun) ?? -1);
    let from = 0;
    for (const to of [...(cuts[branch] ?? []), ends.length].toSorted((one, other) => one - other)) {
      // Nothing continues from the last cut, or a fork left the branch before anything was said in it.
      if (to === from && to === ends.length && segments.length > 0) break;
      endingAt[branch]?.set(to, segments.length);
      segments.push({
        branch,
        from,
        to,
        above,
        latest: spoken.slice(from, to).reduce((one, other) => Math.max(one, other), -1),
      });
      above = segments.length - 1;
      from = to;
    }
  }
  for (const { above, latest } of segments.toReversed()) {
    const upper = segments[above];
    if (upper) upper.latest = Math.max(upper.latest, latest);
  }
  return segments;
}

/** Maps each segment to its continuation with the latest words. */
function findWinners(segments: readonly Segment[]): Map<number, number> {
  const winners = new Map<number, number>();
  for (const [at, { above, latest }] of segments.entries()) {
    const before = segments[winners.get(above) ?? -1];
    if (above !== -1 && (before === undefined || latest > before.latest)) winners.set(above, at);
  }
  return winners;
}

/** Returns a function that takes a log's units one by one and returns true for each unit on the path. */
export function followPath(path: LogPath): (unit: ImportUnit) => boolean {
  const met = new Map<number, number>();
  return ({ branch = 0 }) => {
    const before = met.get(branch) ?? 0;
    met.set(branch, before + 1);
    return before < (path.get(branch) ?? 0);
  };
}
