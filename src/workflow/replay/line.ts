/** Replays a line: repeats each report's actions on its parent commit's code, and compares the results. */
import { TeddyError } from '../../errors.ts';
import type { ChangedCommit, CommitChange, ScratchTree } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { keepRecentReads } from '../../session/context/keep-recent.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { isTurnName, turnDir, joinPath, type Oid, type RepoPath, type TurnName } from '../../names.ts';
import type { RecordedLine } from '../line/find-recorded.ts';
import { noStartError, startsSession } from '../line/session-start.ts';
import { commandReplay, type CommandReplay } from './commands.ts';
import { openLogRenderer, type LogRenderer } from '../verify/render-log-again.ts';
import { replayReport } from './report.ts';
import type { Difference, ReplayedLine, ReplayedTurn } from './replayed.ts';
import { mayChangeCode, revertsTurn } from '../../session/lines/line-paths.ts';
import { toText } from '../../view/view.ts';

export interface ReplayOptions {
  /** True to also run the plans' commands, in a temporary work tree; otherwise no command ever runs. */
  runsCommands?: boolean;
  signal?: AbortSignal;
  /** Reports the number of turns replayed so far. */
  onProgress?(turns: number): void;
}

/** The number of entries to read at a time, because each takes many short waits. */
const entriesAtATime = 32;

/**
 * Replays every report on the line or in the range. Differences are part of the result. Throws INTERRUPTED,
 * DAMAGED_SESSION when the history is cut off, and git's errors.
 */
export async function replayLine(
  given: Project,
  line: RecordedLine,
  { runsCommands = false, signal, onProgress }: ReplayOptions = {},
): Promise<ReplayedLine> {
  const store = keepRecentReads(given.repository.store);
  const project: Project = { ...given, repository: { ...given.repository, store } };
  const check: LogCheck = { logs: openLogRenderer(project), derived: 0, attested: 0 };
  const unplanned = { commits: 0, paths: new Set<RepoPath>() };
  const steps = readSteps(store.walkChanges(line.tip, await findBase(project, line)), line, unplanned);
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
  const others = { commits: unplanned.commits, paths: unplanned.paths.size };
  return {
    session,
    line: name,
    tip,
    ranCommands: runsCommands,
    derived,
    attested,
    unplanned: others,
    turns: turns.list(),
  };
}

interface Step extends ChangedCommit {
  entry: Entry & { turn: TurnName };
  planner: Entry | null | undefined;
  foreign: ReadonlySet<RepoPath>;
  /** The changes in its turn's report; undefined when the report may be before the range. */
  reported: readonly CommitChange[] | undefined;
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

/** Yields the entries that belong to turns, each with the relevant facts from earlier commits. */
async function* readSteps(
  commits: AsyncIterable<ChangedCommit>,
  { after }: RecordedLine,
  unplanned: { commits: number; paths: Set<RepoPath> },
): AsyncGenerator<Step> {
  // A range may begin in the middle of a turn.
  const planners = new Map<TurnName, Entry | null>();
  const reported = new Map<TurnName, readonly CommitChange[]>();
  let foreign = new Set<RepoPath>();
  for await (const changed of commits) {
    const entry = decodeEntry(changed.commit.message);
    if (entry?.kind !== 'undo' || after !== null) countUnplanned(entry, changed, unplanned);
    if (entry === null) {
      for (const { path } of changed.changes) foreign.add(path);
      continue;
    }
    const { turn, kind } = entry;
    if (turn !== null) {
      const planner = planners.has(turn) || after !== null ? planners.get(turn) : null;
      const made = reported.get(turn) ?? (after === null ? [] : undefined);
      yield { ...changed, entry: { ...entry, turn }, planner, foreign, reported: made };
      if (kind === 'report') reported.set(turn, changed.changes);
      if (kind === 'plan') planners.set(turn, entry);
      else if (kind === 'message' && planner === undefined) planners.set(turn, null);
    }
    foreign = new Set();
  }
}

function countUnplanned(
  entry: Entry | null,
  { changes }: ChangedCommit,
  unplanned: { commits: number; paths: Set<RepoPath> },
): void {
  const code = changes.filter(({ path }) => !isSessionPath(path));
  if (entry?.kind === 'report' || code.length === 0) return;
  unplanned.commits += 1;
  for (const { path } of code) unplanned.paths.add(path);
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

/** Finds the commit before the session, or before the range. */
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
  throw noStartError(name);
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
      // A turn should have one report; with several, no report settles what another one leaves open.
      const unproven = [...known.unproven, ...(turn?.unproven ?? [])];
      const merged = {
        ...known,
        ...turn,
        differences: all,
        proven: known.proven + (turn?.proven ?? 0),
        unproven,
        hasPlan: known.hasPlan || entry.kind === 'plan',
      };
      const outcome = all.length > 0 ? 'different' : unproven.length > 0 ? 'not_compared' : merged.outcome;
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
  return { turn, outcome: 'nothing_to_compare', ...nothing, actions: [], differences: [], proven: 0, unproven: [] };
}

/** Creates a work tree before the first command, and again when a command has made it unusable for the next turn. */
function lazyScratch({ repository, processes }: Project): {
  at(commit: Oid): Promise<ScratchTree>;
  remove(): Promise<void>;
} {
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
      opened = await repository.openScratch(commit, await processes.ownName());
      return opened;
    },
    remove,
  };
}

function toInterrupted(): TeddyError {
  return new TeddyError('INTERRUPTED', 'The replay was interrupted.', 'Nothing was changed; run it again.');
}

/** Checks files from entries other than reports: each must be the file that its entry names. */
interface LogCheck {
  logs: LogRenderer;
  /** The number of sections derived so far. */
  derived: number;
  attested: number;
}

interface EntryStep extends ChangedCommit {
  entry: Entry & { turn: TurnName };
  reported: readonly CommitChange[] | undefined;
}

/** Adds to `check`'s counts. */
async function compareEntry(project: Project, step: EntryStep, check: LogCheck): Promise<Difference[]> {
  return [...findCode(step), ...compareUndone(step), ...(await compareFile(project, step, check))];
}

function findCode({ entry: { kind, turn }, oid, changes }: EntryStep): Difference[] {
  if (mayChangeCode(kind)) return [];
  const code = changes.filter(({ path }) => !isSessionPath(path));
  const message = `An entry of kind ${kind} changes code, which it must not.`;
  return code.map(({ path }) => ({ turn, commit: oid, action: null, path, message, diff: null }));
}

/** Compares an undo, which must restore files to their state before or after its turn's report, and do nothing else. */
function compareUndone({ entry, oid, changes, reported }: EntryStep): Difference[] {
  const { kind, turn } = entry;
  if (kind !== 'undo' || reported === undefined) return [];
  const isBack = revertsTurn(entry);
  const wanted = new Map(reported.map((change) => [change.path, change]));
  return changes
    .filter(({ path }) => !isSessionPath(path))
    .filter(({ path, after, mode }) => {
      const found = wanted.get(path);
      return (isBack ? found?.before : found?.after) !== after || (isBack ? found?.oldMode : found?.mode) !== mode;
    })
    .map(({ path }) => {
      const message = `The undo of turn ${turn} leaves ${path} in a different state from the one it had ${isBack ? 'before' : 'after'} that turn.`;
      return { turn, commit: oid, action: null, path, message, diff: null };
    });
}

async function compareFile(project: Project, step: EntryStep, check: LogCheck): Promise<Difference[]> {
  const { entry, oid } = step;
  const path = findFile(step);
  if (path === null || entry.sha256 === undefined) return [];
  const about = { turn: entry.turn, commit: oid, action: null, path, diff: null };
  const found = await project.repository.store.readFile(oid, path);
  if (found === null) return [{ ...about, message: `Its entry names ${path}, which does not exist.` }];
  if (project.hash(found.bytes) !== entry.sha256)
    return [{ ...about, message: `${path} is not the file that its entry names: its sha256 differs.` }];
  if (entry.kind !== 'message') return [];
  const { session, turn } = entry;
  const rendered = await check.logs.render({ commit: oid, session, turn, log: toText(found.bytes) });
  check.derived += rendered.derived;
  check.attested += rendered.attested;
  return rendered.differences.map(({ section, message }) => ({ ...about, message: `${section}: ${message}` }));
}

/** Finds the file to which the entry's sha256 belongs. */
function findFile({ entry, changes }: EntryStep): RepoPath | null {
  const dir = turnDir(entry.session, entry.turn);
  if (entry.kind === 'message') return joinPath(dir, '_context.log');
  if (entry.kind === 'plan') return joinPath(dir, 'plan.md');
  if (entry.kind !== 'write') return null;
  const code = changes.filter(({ path }) => !isSessionPath(path));
  return code.length === 1 ? (code[0]?.path ?? null) : null;
}
