/** Reads a file's lines with their authors, and the story of each turn among them. */
import type { Commit } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { parseIdent, toAuthor, type CommitAuthor } from '../../session/entries/logged-entry.ts';
import { isOid, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import { maskString } from '../line/mask-text.ts';
import { attributeLines, joinRuns, maxRanges, toLines } from './attribute-lines.ts';
import type { AttributedRun, AttributeQuery, Author } from './attribute-lines.ts';
import { attributeWorkTree } from './attribute-work-tree.ts';
import type { BlameSource, CodeStep, CodeSteps } from './code-steps.ts';
import { findFileRange, type FileRange, type FileRangeRequest } from './find-file-range.ts';
import { readTurnStory, type TurnStory } from './read-story.ts';

export interface BlameRequest extends FileRangeRequest {
  /** Finds lines moved within the file. */
  moves?: boolean | undefined;
  /** Finds lines copied from other files. */
  copies?: boolean | undefined;
}

/** A person's commit, or a commit without known facts. */
export interface CommitStory {
  commit: Oid;
  author: CommitAuthor;
  /** In ISO 8601. */
  at: string;
  subject: string;
  /** The session that committed the user's edits; null for any other commit. */
  session: SessionId | null;
  turn: TurnName | null;
}

export interface BlamedFile extends FileRange {
  runs: AttributedRun[];
  /** The turns among the authors, by their commits. */
  turns: ReadonlyMap<Oid, TurnStory>;
  /** All other commits among them. */
  commits: ReadonlyMap<Oid, CommitStory>;
  known: CodeSteps;
  /** Sentences for the user about git settings that teddy cannot apply. */
  problems: string[];
}

/** Throws the errors of `findFileRange` and `Blame.lines`. */
export async function blameFile(project: Project, request: BlameRequest): Promise<BlamedFile> {
  const place = await findFileRange(project, request);
  const { moves, copies } = request;
  const [source, { commit, isTracked }] = [{ repository: project.repository }, place];
  const query = { ...place, moves, copies };
  const { known, ...attributed } =
    commit === null
      ? await attributeWorkTree(source, query, { isTracked })
      : await attributeLines(source, { ...query, commit });
  const { runs, problems } = isTracked
    ? await guessLines(source, { ...query, commit }, attributed.runs)
    : { ...attributed, problems: [] };
  return { ...place, runs, problems, known, ...(await readStories(project, runs, known)) };
}

interface Guessed {
  runs: AttributedRun[];
  /** Returns sentences about configured files and revisions that do not exist. */
  problems: string[];
}

/**
 * Guesses where lines were before a commit named in `blame.ignoreRevsFile`, as `git blame` does. Adds guesses to the
 * certain results, and never replaces them. `runs` are the query's attributed lines.
 */
async function guessLines(source: BlameSource, query: AttributeQuery, runs: AttributedRun[]): Promise<Guessed> {
  const { blame } = source.repository;
  const { ignored, problems } = await readIgnored(source);
  if (ignored.size === 0) return { runs, problems };
  const past = (await blame.lines({ ...query, grafts: new Map() })).filter(
    ({ commit }) => commit !== null && ignored.has(commit),
  );
  if (past.length === 0) return { runs, problems };
  const ranges = past.map(({ line, texts }) => [line, line + texts.length - 1] as const);
  const again = { ...query, ranges: ranges.length > maxRanges ? query.ranges : ranges, ignored: [...ignored] };
  const guessed = (await attributeLines(source, again)).runs.flatMap(toLines);
  const isPast = new Set(past.flatMap(toLines).map(({ line }) => line));
  const guesses = new Map(guessed.map(({ line, author }) => [line, author]));
  const add = (run: AttributedRun): AttributedRun => {
    const guess = isPast.has(run.line) ? guesses.get(run.line) : undefined;
    return guess !== undefined && isOther(guess, run.author, ignored) ? { ...run, guess } : run;
  };
  return { runs: joinRuns(runs.flatMap(toLines).map(add)), problems };
}

function isOther(guess: Author, author: Author, ignored: ReadonlySet<Oid>): boolean {
  if (guess.kind !== 'turn' && guess.kind !== 'person') return false;
  return !ignored.has(guess.commit) && !('commit' in author && author.commit === guess.commit);
}

/** git would fail on a missing file or revision. */
async function readIgnored({ repository: { store, blame } }: BlameSource) {
  const { revisions, unread } = await blame.ignored();
  const problems = unread.map(
    (file) => `blame.ignoreRevsFile names ${file}, which cannot be read, so teddy ignores it.`,
  );
  const ignored = new Set<Oid>();
  for (const { file, text } of revisions) {
    const oid = /^[0-9a-f]{4,64}$/i.test(text) ? await store.resolve(text) : null;
    if (oid !== null) ignored.add(oid);
    // A full ID may belong to another clone.
    else if (!isOid(text))
      problems.push(`${file} names ${JSON.stringify(text)}, which is not a commit in this repository.`);
  }
  return { ignored, problems };
}

/** Keeps one story per commit, however many runs the commit has. */
async function readStories(
  project: Project,
  runs: readonly AttributedRun[],
  known: CodeSteps,
): Promise<Pick<BlamedFile, 'turns' | 'commits'>> {
  const turns = new Map<Oid, { step: CodeStep & { turn: TurnName }; path: RepoPath }>();
  const commits = new Map<Oid, CodeStep | null>();
  const all = runs.flatMap(({ author, guess, path }) =>
    [author, ...(guess ? [guess] : [])].map((one) => [one, path] as const),
  );
  for (const [author, path] of all) {
    if (author.kind === 'turn') turns.set(author.commit, { step: { ...author.step, turn: author.turn }, path });
    else if (author.kind !== 'uncommitted')
      commits.set(author.commit, author.kind === 'person' ? author.step : (known.steps.get(author.commit) ?? null));
  }
  const readTurn = async ([oid, { step, path }]: [Oid, { step: CodeStep & { turn: TurnName }; path: RepoPath }]) =>
    [oid, await readTurnStory(project, known, step, path)] as const;
  const readCommit = async ([oid, step]: [Oid, CodeStep | null]) =>
    [oid, await toCommitStory(project, oid, step, await project.repository.store.readCommit(oid))] as const;
  const [stories, others] = await Promise.all([
    Promise.all([...turns].map(readTurn)),
    Promise.all([...commits].map(readCommit)),
  ]);
  return { turns: new Map(stories), commits: new Map(others) };
}

async function toCommitStory(
  { masker }: Project,
  commit: Oid,
  step: CodeStep | null,
  { author, message }: Commit,
): Promise<CommitStory> {
  const subject = await maskString(masker, message.split('\n', 1)[0] ?? '');
  return {
    commit,
    author: toAuthor(author),
    at: parseIdent(author).time,
    subject,
    session: step?.session ?? null,
    turn: step?.turn ?? null,
  };
}
