/** Replays a line: what each report says was done is done again on the code of its parent commit, and compared. */
import { TeddyError } from '../../errors.ts';
import type { ChangedCommit, Project, ScratchTree } from '../../ports.ts';
import { decodeEntry, type Entry } from '../../session/entry.ts';
import { isTurnName, type Oid, type RepoPath, type TurnName } from '../../session/names.ts';
import type { RecordedLine } from '../review/find-recorded.ts';
import { startsSession } from '../session-start.ts';
import { commandReplay, type CommandReplay } from './replay-commands.ts';
import { openLogRenderer } from '../verify/render-log-again.ts';
import { compareEntry, type LogCheck } from './replay-entry.ts';
import { replayReport } from './replay-report.ts';
import type { Difference, ReplayedLine, ReplayedTurn } from './replayed.ts';

export interface ReplayOptions {
  /** Runs the commands of the plans as well, in a temporary work tree; without it nothing is ever run. */
  runsCommands?: boolean;
  signal?: AbortSignal;
  /** How many turns have been replayed. */
  onProgress?(turns: number): void;
}

/** So many entries are looked at together: reading the objects of one takes many small waits. */
const entriesAtATime = 32;

/**
 * Every report of the line, or of its range. What differs is a result; INTERRUPTED is thrown, DAMAGED_SESSION where the
 * history is cut off, and what git itself fails with.
 */
export async function replayLine(
  project: Project,
  line: RecordedLine,
  { runsCommands = false, signal, onProgress }: ReplayOptions = {},
): Promise<ReplayedLine> {
  const { store } = project.repository;
  const check: LogCheck = { logs: openLogRenderer(project), derived: 0, attested: 0 };
  const steps = readSteps(store.walkChanges(line.tip, await findBase(project, line)), line);
  const scratch = runsCommands ? lazyScratch(project) : null;
  const commands = scratch && commandReplay(project, scratch.at, signal ?? new AbortController().signal);
  const turns = newTurns();
  try {
    for await (const some of inGroups(steps, scratch === null ? entriesAtATime : 1)) {
      if (signal?.aborted) throw toInterrupted();
      const replayed = await Promise.all(some.map((step) => replayStep(project, step, commands, check)));
      some.forEach((step, at) => turns.add(step, replayed[at] ?? { turn: null, differences: [] }));
      onProgress?.(turns.reportCount());
    }
  } finally {
    await scratch?.remove();
  }
  const { session, name, tip } = line;
  const { derived, attested } = check;
  return { session, name, tip, ranCommands: runsCommands, derived, attested, turns: turns.list() };
}

interface Step extends ChangedCommit {
  entry: Entry & { turn: TurnName };
  planner: Entry | null | undefined;
  foreign: ReadonlySet<RepoPath>;
}

interface ReplayedStep {
  turn: ReplayedTurn | null;
  differences: Difference[];
}

async function replayStep(
  project: Project,
  step: Step,
  commands: CommandReplay | null,
  check: LogCheck,
): Promise<ReplayedStep> {
  if (step.entry.kind === 'report') return { turn: await replayReport(project, step, commands), differences: [] };
  return { turn: null, differences: await compareEntry(project, step, check) };
}

/** Entries of turns, each with what came before it that matters. */
async function* readSteps(commits: AsyncIterable<ChangedCommit>, { after }: RecordedLine): AsyncGenerator<Step> {
  // A range may begin in the middle of a turn.
  const planners = new Map<TurnName, Entry | null>();
  let foreign = new Set<RepoPath>();
  for await (const changed of commits) {
    const entry = decodeEntry(changed.commit.message);
    if (entry === null) {
      for (const { path } of changed.changes) foreign.add(path);
      continue;
    }
    const { turn, kind } = entry;
    if (turn !== null) {
      const planner = planners.has(turn) || after !== null ? planners.get(turn) : null;
      yield { ...changed, entry: { ...entry, turn }, planner, foreign };
      if (kind === 'plan') planners.set(turn, entry);
      else if (kind === 'message' && planner === undefined) planners.set(turn, null);
    }
    foreign = new Set();
  }
}

async function* inGroups<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** What lies before the session, or the range. */
async function findBase(
  { repository: { store } }: Project,
  { session, tip, after, name }: RecordedLine,
): Promise<Oid[]> {
  const not = after === null ? [] : [after];
  for await (const { commit } of store.firstParents(tip, not)) {
    const entry = decodeEntry(commit.message);
    if (entry?.session === session && (await startsSession(store, entry, commit)))
      return [...not, ...commit.parents.slice(0, 1)];
  }
  if (after !== null) return not;
  throw new TeddyError(
    'DAMAGED_SESSION',
    `The history of ${name} does not go back to the start of its session.`,
    'In a shallow clone: `git fetch --unshallow`; in CI, check out with the whole history.',
  );
}

interface TurnList {
  add(step: Step, replayed: ReplayedStep): void;
  reportCount(): number;
  list(): ReplayedTurn[];
}

function newTurns(): TurnList {
  const turns = new Map<TurnName, ReplayedTurn & { hasPlan: boolean }>();
  let count = 0;
  return {
    reportCount: () => count,
    add({ entry }, { turn, differences }) {
      if (!isTurnName(entry.turn)) return;
      const known = turns.get(entry.turn) ?? { ...emptyTurn(entry.turn), hasPlan: false };
      const all = [...known.differences, ...differences, ...(turn?.differences ?? [])];
      if (turn !== null) count += 1;
      const merged = { ...known, ...turn, differences: all, hasPlan: known.hasPlan || entry.kind === 'plan' };
      const outcome = all.length > 0 ? 'different' : merged.outcome;
      turns.set(entry.turn, { ...merged, outcome });
    },
    list: () =>
      [...turns.values()].map(({ hasPlan, ...turn }) =>
        turn.commit === null && turn.note === null
          ? { ...turn, note: hasPlan ? 'its plan has no report' : 'it has no plan' }
          : turn,
      ),
  };
}

function emptyTurn(turn: TurnName): ReplayedTurn {
  const nothing = { commit: null, status: null, note: null, durationMs: 0 };
  return { turn, outcome: 'nothing_to_compare', ...nothing, actions: [], differences: [] };
}

/** Made when the first command is to be run, and again when one has left it unfit for the next turn. */
function lazyScratch({ repository }: Project): { at(commit: Oid): Promise<ScratchTree>; remove(): Promise<void> } {
  let opened: ScratchTree | null = null;
  const remove = async () => {
    const left = opened;
    opened = null;
    await left?.remove();
  };
  return {
    async at(commit) {
      if (opened !== null && (await opened.moveTo(commit))) return opened;
      await remove();
      opened = await repository.openScratch(commit);
      return opened;
    },
    remove,
  };
}

function toInterrupted(): TeddyError {
  return new TeddyError('INTERRUPTED', 'The replay was interrupted.', 'Nothing was changed; run it again.');
}
