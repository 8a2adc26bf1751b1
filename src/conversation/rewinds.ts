/**
 * Finds where the user went back in a log whose lines name their parents, and typed something else: prompts that share a parent.
 * The attempt that was worked on last counts, the others were abandoned. Some 100 bytes are held for each line of the log.
 */

interface TreeLine {
  /** From 1. */
  line: number;
  uuid: string;
  /** Null at the beginning of a conversation; undefined where the log does not say. */
  parent: string | null | undefined;
  /** The user typed it. */
  isPrompt: boolean;
  /** Somebody speaks: the program's own lines do not decide which attempt is the last. */
  isSpoken: boolean;
}

/** The records of one line of the session. */
export interface LogPart {
  /** Without a uuid: whether something of the line may be taken. */
  takes(line: number, uuid?: unknown): boolean;
  /** Each line is counted in one part, also where several take it. */
  counts(line: number): boolean;
}

export interface Attempt {
  /** The first prompt that was taken back. */
  prompt: { line: number; uuid: string };
  /** The attempt that it leaves, by its position in the list; null: what counts. */
  leaves: number | null;
  /** All that was said before the prompt as well. */
  part: LogPart;
}

export interface Rewinds {
  /** The part that counts. */
  main: LogPart;
  /** In the order in which they began. */
  attempts: Attempt[];
}

export interface RewindFinder {
  add(line: TreeLine): void;
  /** Null: the user never went back. */
  find(): Rewinds | null;
}

/** The records from a prompt at which attempts part up to the next such prompt; the first segment stands before all of them. */
interface Segment {
  prompt: number;
  parent: number;
  fork: number;
  /** The last node in which somebody speaks, here or below. */
  latest: number;
}

interface Log {
  /** By uuid. */
  nodes: ReadonlyMap<string, number>;
  parents: number[];
  /** A line that is repeated is the same node. */
  lines: { line: number[]; node: number[] };
  spoken: boolean[];
  /** Prompts by their parent. */
  prompts: Map<string, number[]>;
  /** A line names its parent: where none does, nothing tells that the user went back. */
  namesParents: boolean;
}

export function openRewindFinder(): RewindFinder {
  const nodes = new Map<string, number>();
  const log: Log = {
    nodes,
    parents: [],
    lines: { line: [], node: [] },
    spoken: [],
    prompts: new Map(),
    namesParents: false,
  };
  return {
    add({ line, uuid, parent, isPrompt, isSpoken }) {
      const known = nodes.get(uuid);
      const node = known ?? nodes.size;
      log.lines.line.push(line);
      log.lines.node.push(node);
      log.namesParents ||= typeof parent === 'string';
      if (known !== undefined) return;
      // A line whose parent is lost goes on from the line before it.
      log.parents.push(parent === null ? -1 : (nodes.get(parent ?? '') ?? node - 1));
      log.spoken.push(isSpoken);
      nodes.set(uuid, node);
      if (!isPrompt || parent === undefined) return;
      const key = parent ?? '';
      const siblings = log.prompts.get(key);
      if (siblings === undefined) log.prompts.set(key, [node]);
      else siblings.push(node);
    },
    find: () => findRewinds(log),
  };
}

function findRewinds(log: Log): Rewinds | null {
  const forks = [...log.prompts.values()].filter(({ length }) => length > 1);
  if (forks.length === 0 || !log.namesParents) return null;
  const { segments, segmentOf } = cutSegments(log, forks);
  const winners = findWinners(segments);
  // By segment, the line of the session that it is on: 0 is what counts, an attempt is its position + 1.
  const lineOf = [0];
  const losers: number[] = [];
  for (let at = 1; at < segments.length; at += 1) {
    const { parent, fork } = segments[at] as Segment;
    const isWinner = winners[fork] === at;
    lineOf.push(isWinner ? (lineOf[parent] ?? 0) : losers.length + 1);
    if (!isWinner) losers.push(at);
  }
  const find = openLookup(log, segmentOf);
  const counts = (line: number, session: number): boolean => {
    const segment = find(line);
    return typeof segment === 'number' ? lineOf[segment] === session : session === 0;
  };
  const takes = (
    line: number,
    uuid: unknown,
    takesSegment: (segment: number) => boolean,
    without: boolean,
  ): boolean => {
    const segment = find(line, uuid);
    if (segment === 'several') return uuid === undefined || without;
    return segment === null ? without : takesSegment(segment);
  };
  const places = findPlaces(log, new Set(losers.map((at) => segments[at]?.prompt ?? -1)));
  const toAttempt = (at: number, position: number): Attempt => {
    const { prompt, parent } = segments[at] as Segment;
    const above = new Set<number>();
    for (let up = parent; up !== -1; up = segments[up]?.parent ?? -1) above.add(up);
    const { line, uuid } = places.get(prompt) as Attempt['prompt'];
    const leaves = lineOf[parent] ?? 0;
    return {
      prompt: { line, uuid },
      leaves: leaves === 0 ? null : leaves - 1,
      part: {
        takes: (number, id) =>
          takes(number, id, (one) => lineOf[one] === position + 1 || (number <= line && above.has(one)), false),
        counts: (number) => counts(number, position + 1),
      },
    };
  };
  return {
    main: {
      takes: (line, uuid) => takes(line, uuid, (segment) => lineOf[segment] === 0, true),
      counts: (line) => counts(line, 0),
    },
    attempts: losers.map(toAttempt),
  };
}

function cutSegments({ parents, spoken }: Log, forks: number[][]): { segments: Segment[]; segmentOf: Int32Array } {
  const forkOf = new Map(forks.flatMap((prompts, fork) => prompts.map((prompt) => [prompt, fork] as const)));
  const segments: Segment[] = [{ prompt: -1, parent: -1, fork: -1, latest: -1 }];
  const segmentOf = new Int32Array(parents.length);
  for (let node = 0; node < parents.length; node += 1) {
    const fork = forkOf.get(node);
    // All of a fork have the parent of its first, also where that is lost.
    const parent = parents[fork === undefined ? node : (forks[fork]?.[0] ?? node)] ?? -1;
    const above = parent === -1 ? 0 : (segmentOf[parent] ?? 0);
    segmentOf[node] = fork === undefined ? above : segments.length;
    if (fork !== undefined) segments.push({ prompt: node, parent: above, fork, latest: node });
    const own = segments[segmentOf[node] ?? 0];
    if (own && spoken[node] === true) own.latest = node;
  }
  for (const { parent, latest } of segments.toReversed()) {
    const above = segments[parent];
    if (above) above.latest = Math.max(above.latest, latest);
  }
  return { segments, segmentOf };
}

function findPlaces({ nodes, lines }: Log, wanted: ReadonlySet<number>): Map<number, Attempt['prompt']> {
  const places = new Map<number, Attempt['prompt']>();
  for (const [uuid, node] of nodes) if (wanted.has(node)) places.set(node, { line: 0, uuid });
  for (const [at, node] of lines.node.entries()) {
    const place = places.get(node);
    if (place?.line === 0) place.line = lines.line[at] ?? 0;
  }
  return places;
}

/** By fork: the attempt in which somebody spoke last. */
function findWinners(segments: readonly Segment[]): number[] {
  const winners: number[] = [];
  for (const [at, { fork, latest }] of segments.entries()) {
    const before = segments[winners[fork] ?? -1];
    if (fork !== -1 && (before === undefined || latest > before.latest)) winners[fork] = at;
  }
  return winners;
}

const [none, several] = [-1, -2];

/** The segment of a line; null: it has no place in the tree. A damaged line may hold parts of several. */
function openLookup({ nodes, lines }: Log, segmentOf: Int32Array) {
  const byLine = new Int32Array((lines.line.at(-1) ?? 0) + 1).fill(none);
  for (const [at, line] of lines.line.entries()) {
    const segment = segmentOf[lines.node[at] ?? 0] ?? 0;
    const before = byLine[line] ?? none;
    byLine[line] = before === none || before === segment ? segment : several;
  }
  return (line: number, uuid?: unknown): number | 'several' | null => {
    const segment = byLine[line] ?? none;
    if (segment !== several) return segment === none ? null : segment;
    const node = typeof uuid === 'string' ? nodes.get(uuid) : undefined;
    return node === undefined ? 'several' : (segmentOf[node] ?? 'several');
  };
}
