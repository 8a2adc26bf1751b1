/** Attributes a file's lines: `git blame`, traced through landings, undone turns and squashes to the sessions' lines. */
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import { decodeText } from '../../session/text/bytes.ts';
import type { Report } from '../../plan/report/report.ts';
import type { BlamedRun, BlameQuery, Grafts } from '../../ports/git.ts';
import { identSeconds } from '../../session/entries/logged-entry.ts';
import type { Oid, RepoPath, TurnName, SessionId } from '../../names.ts';
import { decodeStep, readCodeSteps, type BlameSource, type CodeStep, type CodeSteps } from './code-steps.ts';
import { findOrigin, indexSteps, type Origin, type StepIndex, type UntracedLines } from './same-content.ts';
import { readTurnFile, type TurnAt } from '../../view/view.ts';
import { findNotedLanding } from '../line/noted-landings.ts';
import { readCalls, readReport } from './read-story.ts';

export interface AttributeQuery extends Omit<BlameQuery, 'grafts'> {
  /** Omits lines that one of these commits introduced. */
  without?: readonly Oid[];
}

/** The facts shared by all files in a commit or the work tree, so that teddy reads them only once. */
export interface Tracing {
  head: Oid | null;
  known: CodeSteps;
  index(): StepIndex;
  /**
   * Returns true if a commit is a snapshot on an agent's line in which the agent had no part: it contains the user's
   * edits, or code that others introduced.
   */
  isFound(commit: Oid | null): Promise<boolean>;
  /** Returns the tips that a commit without trailers has squashed, as its note proves. */
  findNoted(commit: Oid): Promise<readonly Oid[]>;
  authorsOf(run: TracedRun): Promise<AttributedRun[]>;
}

/** `commit` null: the work tree. Throws the errors of `readCodeSteps`. */
export async function openTracing(source: BlameSource, commit: Oid | null): Promise<Tracing> {
  const head = commit ?? (await source.repository.store.resolve('HEAD'));
  const known = await readCodeSteps(source, head === null ? [] : [head]);
  let index: StepIndex | undefined;
  const found = new Map<Oid, Promise<boolean>>();
  const readFound = async (step: CodeStep | undefined) =>
    step?.kind === 'snapshot' && known.agents.has(step.session) && (await readCalls(source, step)).length === 0;
  const isFound = async (commit: Oid | null) => {
    if (commit === null) return false;
    const read = found.get(commit) ?? readFound(known.steps.get(commit));
    found.set(commit, read);
    return read;
  };
  const noted = new Map<Oid, Promise<Oid[]>>();
  const findNoted = (commit: Oid) => {
    const read = noted.get(commit) ?? readNoted(source, known, commit);
    noted.set(commit, read);
    return read;
  };
  return {
    head,
    known,
    index: () => (index ??= indexSteps(known)),
    isFound,
    findNoted,
    authorsOf: authorReader(source, known, isFound),
  };
}

/** Only a session that is here explains anything, so all of the tips' entries have to be among the known steps. */
async function readNoted({ repository }: BlameSource, known: CodeSteps, commit: Oid): Promise<Oid[]> {
  if (known.notes.length === 0 || known.steps.has(commit)) return [];
  const tips = (await findNotedLanding(repository, known.notes, commit)).map(({ tip }) => tip);
  if (tips.length === 0) return [];
  const unread = await repository.blame.findMarked(['Teddy-Entry: '], tips, known.tips);
  return unread.length === 0 ? tips : [];
}

/**
 * Returns the lines in the file's order. A line belongs to its author or is unknown; teddy never attributes it to
 * anybody who did not introduce it. Throws the errors of `Blame.lines`.
 */
export async function attributeLines(
  source: BlameSource,
  query: AttributeQuery,
  opened?: Tracing,
): Promise<Attributed> {
  const tracing = opened ?? (await openTracing(source, query.commit));
  const traced = await traceLines(source, tracing, query);
  return { runs: joinRuns((await Promise.all(traced.map(tracing.authorsOf))).flat()), known: tracing.known };
}

export interface Attributed {
  runs: AttributedRun[];
  known: CodeSteps;
}

/**
 * `origin` is the reason why the commit may not be the line's origin. `left` is the user's own commit with an edit that
 * an agent's line also contains.
 */
interface TracedRun extends BlamedRun {
  byContent: boolean;
  byNote: Oid | null;
  origin: Origin | null;
  left: TracedRun | null;
}

/** Explains the lines in a commit where a shallow clone ends, to which git attributes all earlier lines. */
const beforeCut: Origin = {
  unsure: null,
  reason: "This clone's history is cut off there. `git fetch --unshallow` fetches the rest.",
};

const inCircle: Origin = {
  unsure: null,
  reason: 'Its history and that of the session with the same lines form a cycle.',
};

/**
 * A squash of a renamed file drops the session's plan, which contains all of the file's lines, so git may take the plan
 * for the old name.
 */
const misled: Origin = { unsure: null, reason: 'git treats a text in the session as an earlier version of the file.' };

const isText = ({ path }: { path: RepoPath }) => path.startsWith('.teddy/');

/**
 * A squash may contain another squash, and agents take turns, so the search continues from its results up to this
 * number of times.
 */
const maxRounds = 24;

async function traceLines(
  source: BlameSource,
  { head, known, index, isFound, findNoted }: Tracing,
  query: AttributeQuery,
): Promise<TracedRun[]> {
  const { blame, store } = source.repository;
  // The history ends at these commits, so there is no need to trace them.
  const { without = [], ignored = [] } = query;
  const isIgnored = new Set(ignored);
  const origins = new Map<Oid, Origin | null>([...without, ...ignored].map((oid) => [oid, null]));
  for (const oid of await store.cutCommits()) origins.set(oid, beforeCut);
  let grafts: Grafts = new Map<Oid, readonly Oid[]>([
    ...[...known.grafts].filter(([oid]) => !isIgnored.has(oid)),
    ...without.map((oid) => [oid, []] as const),
  ]);
  const refused = new Set<Oid>();
  const isNoted = (oid: Oid) => 'noted' in (origins.get(oid) ?? {});
  let runs = (await blame.lines({ ...query, grafts })).map(toTraced);
  for (let round = 1; round <= maxRounds && known.steps.size > 0; round += 1) {
    const untraced = groupUntraced(await keepUntraced(runs, known, isFound), origins);
    if (untraced.length === 0) break;
    for (const one of untraced) {
      const noted = refused.has(one.commit) ? [] : await findNoted(one.commit);
      origins.set(one.commit, noted.length > 0 ? { noted } : await findOrigin(source, index(), one));
    }
    const found = untraced.flatMap(({ commit }) => {
      const origin = origins.get(commit);
      if (origin == null || 'unsure' in origin) return [];
      return [[commit, 'noted' in origin ? origin.noted : [origin.oid]] as const];
    });
    if (found.length === 0) break;
    const added = new Map<Oid, Oid[]>();
    for (const [commit, oids] of found) added.set(commit, [...(await store.readCommit(commit)).parents, ...oids]);
    // A cycle drops its last graft, so notes come last: a false one must not drop anything else.
    const all = new Map([...grafts, ...added].toSorted(([a], [b]) => Number(isNoted(a)) - Number(isNoted(b))));
    const circles = await blame.findCircles(head === null ? [] : [head], all);
    for (const oid of circles) {
      all.delete(oid);
      if (isNoted(oid) && origins.delete(oid)) refused.add(oid);
      else origins.set(oid, inCircle);
    }
    grafts = all;
    const moved = new Map(found.map(([commit]) => [commit, isNoted(commit)]));
    runs = await traceAgain(source, { ...query, grafts }, runs, moved, known);
  }
  const own = without.length === 0 ? runs : await keepOwn(source, { ...query, without }, runs);
  return own.map(({ left, ...run }) => ({
    ...run,
    ...(isOwnEdit(known, run.commit) ? left : null),
    origin: isText(run) && !isText(query) ? misled : run.commit === null ? null : (origins.get(run.commit) ?? null),
    left: null,
  }));
}

/**
 * Keeps the lines that no commit in `without` contains. When a landing renamed a file, its session already has the new
 * name, so git would not look for the old name after following the landing to the session.
 */
async function keepOwn(
  { repository: { blame } }: BlameSource,
  { without, ...query }: AttributeQuery & { without: readonly Oid[] },
  runs: readonly TracedRun[],
): Promise<TracedRun[]> {
  const found = await blame.lines({ ...query, grafts: new Map(without.map((oid) => [oid, []])) });
  const isOld = new Set(
    found
      .filter(({ commit }) => commit !== null && without.includes(commit))
      .flatMap(({ line, texts }) => texts.map((_, at) => line + at)),
  );
  return runs
    .filter(({ commit }) => commit === null || !without.includes(commit))
    .flatMap((run) => toLines(run).filter(({ line }) => !isOld.has(line)));
}

export function toLines<Run extends Omit<BlamedRun, 'commit'>>(run: Run): (Run & { texts: [string] })[] {
  const { line, originalLine } = run;
  return run.texts.map((text, at) => ({ ...run, line: line + at, originalLine: originalLine + at, texts: [text] }));
}

function toTraced(run: BlamedRun): TracedRun {
  return { ...run, byContent: false, byNote: null, origin: null, left: null };
}

/** Keeps the lines of commits that are not a step of a session, or not the session's own step. */
async function keepUntraced(
  runs: readonly TracedRun[],
  { steps, untraced }: CodeSteps,
  isFound: Tracing['isFound'],
): Promise<TracedRun[]> {
  const isFoundThere = await Promise.all(runs.map(({ commit }) => isFound(commit)));
  return runs.filter(
    ({ commit }, at) => commit !== null && (!steps.has(commit) || untraced.has(commit) || isFoundThere[at]),
  );
}

/** Returns, for each untraced commit, the file with the most lines. */
function groupUntraced(runs: readonly TracedRun[], asked: ReadonlyMap<Oid, unknown>): UntracedLines[] {
  const groups = new Map<Oid, Map<RepoPath, Map<number, string>>>();
  for (const { commit, path, originalLine, texts } of runs) {
    if (commit === null || asked.has(commit)) continue;
    const paths = groups.get(commit) ?? new Map<RepoPath, Map<number, string>>();
    const lines = paths.get(path) ?? new Map<number, string>();
    for (const [at, text] of texts.entries()) lines.set(originalLine + at, text);
    groups.set(commit, paths.set(path, lines));
  }
  return [...groups].flatMap(([commit, paths]) => {
    const [most] = [...paths].toSorted(([, a], [, b]) => b.size - a.size);
    return most === undefined ? [] : [{ commit, path: most[0], lines: most[1] }];
  });
}

/** With more ranges, reading only these is no faster than reading the whole file. */
export const maxRanges = 200;

/** `commits` are the commits with another origin now; true when a note names it. */
async function traceAgain(
  { repository: { blame } }: BlameSource,
  query: BlameQuery,
  runs: readonly TracedRun[],
  commits: ReadonlyMap<Oid, boolean>,
  known: CodeSteps,
): Promise<TracedRun[]> {
  const asked = runs.filter(({ commit }) => commit !== null && commits.has(commit));
  const ranges = asked.map(({ line, texts }) => [line, line + texts.length - 1] as const);
  const again = await blame.lines({ ...query, ranges: ranges.length > maxRanges ? query.ranges : ranges });
  const wasOf = new Map(runs.flatMap((run) => run.texts.map((_, at) => [run.line + at, run] as const)));
  const isAsked = new Set(asked);
  const traced: TracedRun[] = runs.filter((run) => !isAsked.has(run));
  for (const run of again)
    for (const [at, text] of run.texts.entries()) {
      const before = wasOf.get(run.line + at);
      if (before === undefined || !isAsked.has(before)) continue;
      const [line, originalLine] = [run.line + at, run.originalLine + at];
      const was = { ...before, line, originalLine: before.originalLine + line - before.line, texts: [text] };
      const left = isOwnEdit(known, run.commit) ? { ...(before.left ?? was), line, texts: [text], left: null } : null;
      const isNoted = before.commit !== null && commits.get(before.commit) === true;
      const hasMoved = run.commit !== before.commit;
      const byContent = before.byContent || (hasMoved && !isNoted);
      const byNote = before.byNote ?? (hasMoved && isNoted ? before.commit : null);
      traced.push({ ...run, line, originalLine, texts: [text], byContent, byNote, origin: null, left });
    }
  return traced.toSorted((a, b) => a.line - b.line);
}

/**
 * Returns true if the commit contains the user's own edits on an agent's line. The lines belong to the user's own
 * commit with these edits.
 */
function isOwnEdit({ steps, agents }: CodeSteps, commit: Oid | null): boolean {
  const step = commit === null ? undefined : steps.get(commit);
  return step?.kind === 'snapshot' && step.turn === null && agents.has(step.session);
}

export function joinRuns(runs: readonly AttributedRun[]): AttributedRun[] {
  const joined: AttributedRun[] = [];
  for (const run of runs) {
    const last = joined.at(-1);
    const goesOn =
      last !== undefined &&
      isSame(last.author, run.author) &&
      last.uncommitted === run.uncommitted &&
      isSame(last.guess ?? last.author, run.guess ?? run.author) &&
      last.path === run.path &&
      last.line + last.texts.length === run.line &&
      last.originalLine + last.texts.length === run.originalLine;
    if (goesOn) last.texts.push(...run.texts);
    else joined.push({ ...run, texts: [...run.texts] });
  }
  return joined;
}

function isSame(one: Author, other: Author): boolean {
  if (one.kind !== other.kind) return false;
  const commitOf = (author: Author) => ('commit' in author ? author.commit : null);
  const markOf = (author: Author) => ('isOwn' in author ? author.isOwn : 'byContent' in author && author.byContent);
  const noteOf = (author: Author) => ('byNote' in author ? author.byNote : null);
  return commitOf(one) === commitOf(other) && markOf(one) === markOf(other) && noteOf(one) === noteOf(other);
}

/** Returns a function that finds the authors of a commit's lines; it reads each commit's facts only once. */
function authorReader(
  source: BlameSource,
  known: CodeSteps,
  isFound: Tracing['isFound'],
): (run: TracedRun) => Promise<AttributedRun[]> {
  const edits = new Map<string, ReturnType<typeof readEdits>>();
  const made = new Map<string, Promise<ReadonlySet<string>>>();
  const texts = new Map<string, Promise<string | null>>();
  const reports = new Map<string, Promise<Report | null>>();
  const keep = <Value>(map: Map<string, Promise<Value>>, key: string, read: () => Promise<Value>) => {
    const found = map.get(key) ?? read();
    map.set(key, found);
    return found;
  };
  const turnFiles: TurnFiles = {
    text: (at, name) =>
      keep(texts, `${at.oid} ${name}`, () => readTurnFile(source.repository.store, toTurnAt(at), name)),
    report: (at) => keep(reports, at.oid, () => readReport(source, toTurnAt(at))),
  };
  return async (run) => {
    const { commit, byContent, byNote, origin, left: _, ...place } = run;
    if (commit === null) return [{ ...place, author: { kind: 'uncommitted', isOwn: false } }];
    const person: Author = { kind: 'person', commit, step: null, byContent, byNote };
    const unknown = (reason: string): Author => ({ kind: 'unknown', commit, reason });
    const whole = (author: Author): AttributedRun[] => [{ ...place, author }];
    const step = known.steps.get(commit);
    if (origin !== null && 'unsure' in origin) {
      const { unsure, reason } = origin;
      return splitRun(place, (text) => (unsure === null || unsure.has(text) ? unknown(reason) : person));
    }
    if (known.untraced.has(commit)) return whole(unknown('It landed from a line that is not in this repository.'));
    if (step === undefined) return whole(await readOther(source, commit, person));
    if (step.kind === 'landing') return whole(person);
    if (step.kind === 'undo')
      return whole(unknown(`An undo in ${step.session} restored it, and no earlier commit has it.`));
    const own: Author = { ...person, step };
    if (step.turn === null && step.kind !== 'snapshot')
      return whole(unknown(`${step.session} got it from a program that named no turn.`));
    const turn: Author =
      step.turn === null
        ? own
        : { kind: 'turn', commit, step, session: step.session, turn: step.turn, byContent, byNote };
    if (step.kind === 'report') {
      const at = { ...step, turn: step.turn as TurnName };
      const edited = await keep(edits, `${commit} ${run.path}`, () => readEdits(source, turnFiles, at, run.path));
      if (edited === null) return whole(turn);
      if (edited === 'unreadable') return whole(unknown('Its report cannot be read.'));
      const other = edited.isAmended ? unknown('Its report records different content for the file.') : own;
      return splitRun(place, (text) => (edited.ofTurn.has(text.trim()) ? turn : other));
    }
    if (step.kind !== 'snapshot') return whole(turn);
    if (known.agents.has(step.session)) {
      if (step.turn === null || !(await isFound(commit))) return whole(turn);
      return whole(
        unknown(`It changed during turn ${step.turn} of ${step.session}, in which the agent called no tool.`),
      );
    }
    const commanded = await keep(made, commit, () => findCommanded(source, step));
    if (!commanded.has(run.path)) return whole(own);
    return whole(unknown(`A command in ${step.session} changed the file before somebody's edits were recorded.`));
  };
}

function splitRun(run: Omit<AttributedRun, 'author'>, authorOf: (text: string) => Author): AttributedRun[] {
  return toLines(run).map((line) => ({ ...line, author: authorOf(line.texts[0]) }));
}

/** Returns the author for an entry that changed only `.teddy`, or for a commit that is not an entry. */
async function readOther({ repository: { store } }: BlameSource, commit: Oid, person: Author): Promise<Author> {
  const { message, author, committer } = await store.readCommit(commit);
  const entry = decodeStep(message);
  if (entry === null || entry.turn === null) return person;
  const { kind, id, session, turn } = entry;
  const seconds = identSeconds(committer ?? author);
  const step: CodeStep = { oid: commit, seconds, kind, entry: id, session, turn, head: null, agent: null, files: [] };
  return { kind: 'turn', commit, step, session, turn, byContent: false, byNote: null };
}

type TurnStep = Pick<CodeStep, 'oid' | 'session'> & { turn: TurnName };

function toTurnAt({ oid: commit, session, turn }: TurnStep): TurnAt {
  return { commit, session, turn };
}

/** Reads turns' files once, because one report contains the changes to many files. */
interface TurnFiles {
  text(at: TurnStep, name: string): Promise<string | null>;
  report(at: TurnStep): Promise<Report | null>;
}

/**
 * When `isAmended`, somebody added the other lines to the commit after the run, and their author is unknown; otherwise
 * they are the user's.
 */
interface Edits {
  ofTurn: ReadonlySet<string>;
  isAmended: boolean;
}

/**
 * Finds the lines in a report that are the turn's when not all are: the user changed an action before it ran, or had
 * edited an untracked file before an EDIT changed it, or somebody amended or merged the commit. Returns null when all
 * lines are the turn's.
 */
async function readEdits(
  source: BlameSource,
  files: TurnFiles,
  step: TurnStep & Pick<CodeStep, 'files'>,
  path: RepoPath,
): Promise<Edits | 'unreadable' | null> {
  const { store } = source.repository;
  const [parent] = (await store.readCommit(step.oid)).parents;
  const isNew = parent !== undefined && !(await store.hasPath(parent, path));
  const text = await files.text(step, 'report.md');
  const blob = step.files.find((file) => file.path === path)?.blob;
  const isAmended = blob != null && text?.includes(blob) === false;
  if (!isNew && !isAmended && text?.includes('modified_by_user: true') === false) return null;
  const report = await files.report(step);
  if (report === null) return 'unreadable';
  const own = report.action_logs.filter(({ status, params }) => status === 'SUCCESS' && params['file_path'] === path);
  const isEdited = own.some(({ modified_by_user: byUser }) => byUser === true);
  const wasUnknown = isNew && own[0]?.action_type === 'EDIT';
  if (!isEdited && !wasUnknown && !isAmended) return null;
  const after = isEdited || wasUnknown ? null : report.changes.find((change) => change.path === path)?.after;
  const left = after != null && (await store.readSize(after)) !== null ? await store.readBlob(after) : null;
  const lines = (left === null ? await files.text(step, 'plan.md') : decodeText(left)) ?? '';
  return { ofTurn: new Set(lines.split('\n').map((line) => line.trim())), isAmended };
}

/**
 * Finds the files that a conversation's commands changed since the last code commit; only this commit contains those
 * changes.
 */
async function findCommanded(source: BlameSource, step: CodeStep): Promise<Set<string>> {
  const { store } = source.repository;
  const turns = new Set<TurnName>();
  for await (const { oid, commit } of store.firstParents(step.oid)) {
    const entry = decodeStep(commit.message);
    if (oid !== step.oid && (entry?.kind === 'snapshot' || entry?.kind === 'report' || entry?.kind === 'start')) break;
    if (entry !== null && entry.session === step.session && entry.turn !== null) turns.add(entry.turn);
  }
  const texts = await Promise.all(
    [...turns].map((turn) => readTurnFile(store, toTurnAt({ ...step, turn }), 'transcript.jsonl')),
  );
  const records = texts.flatMap((text) =>
    text?.includes('"changed_files"') === true ? decodeTranscript(text).records : [],
  );
  return new Set(records.flatMap((record) => (record.type === 'tool_result' ? (record.changed_files ?? []) : [])));
}

/**
 * `turn` is a model, or the agent that it works for. `person` is the author of a commit, or of an edit that a snapshot
 * recorded. `uncommitted` lines are only in the work tree; with `isOwn`, an agent's line contains them as a user's
 * edit. The author of `unknown` lines cannot be determined, and may have been a turn.
 */
export type Author =
  | ({ kind: 'turn'; commit: Oid; step: CodeStep; session: SessionId; turn: TurnName } & Found)
  | ({ kind: 'person'; commit: Oid; step: CodeStep | null } & Found)
  | { kind: 'uncommitted'; isOwn: boolean }
  | { kind: 'unknown'; commit: Oid; reason: string };

interface Found {
  byContent: boolean;
  /** The squash whose note led to the lines; null when a trailer or the content did. */
  byNote: Oid | null;
}

/** Adjacent lines by one author. */
export interface AttributedRun {
  author: Author;
  /** The number of the first line, from 1, in the requested file. */
  line: number;
  /** The line's number in its file in the author's commit. */
  originalLine: number;
  path: RepoPath;
  texts: string[];
  /** Set when the lines in the work tree match the author's commit, but HEAD does not. */
  uncommitted?: true;
  /** The author that git guesses beyond a commit in `blame.ignoreRevsFile`. */
  guess?: Author;
}
