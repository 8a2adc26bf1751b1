/** The lines of a file with their authors, and the story of each turn among them. */
import type { Commit } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { parseIdent } from '../../session/logged-entry.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';
import { maskString } from '../line/mask-text.ts';
import type { AttributedRun } from './attribution.ts';
import { attributeLines } from './attribute-lines.ts';
import { attributeWorkTree } from './attribute-work-tree.ts';
import type { CodeStep, CodeSteps } from './code-steps.ts';
import { findFileRange, type FileRange, type FileRangeRequest } from './find-file-range.ts';
import { readTurnStory, type TurnStory } from './read-story.ts';

export interface BlameRequest extends FileRangeRequest {
  /** Finds lines that were moved within the file. */
  moves?: boolean | undefined;
  /** Finds lines that were copied from other files. */
  copies?: boolean | undefined;
}

/** Somebody's commit: a person's own, or one of which nothing is known. */
export interface CommitStory {
  commit: Oid;
  by: string;
  email: string;
  /** ISO 8601. */
  at: string;
  subject: string;
  /** It is the user's edits, as a session took them in. */
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
}

/** Throws what `findFileRange` and `Blame.lines` throw. */
export async function blameFile(project: Project, request: BlameRequest): Promise<BlamedFile> {
  const place = await findFileRange(project, request);
  const { moves, copies } = request;
  const [source, { commit, isTracked }] = [{ repository: project.repository }, place];
  const query = { ...place, moves, copies };
  const { runs, known } =
    commit === null
      ? await attributeWorkTree(source, query, { isTracked })
      : await attributeLines(source, { ...query, commit });
  return { ...place, runs, known, ...(await readStories(project, runs, known)) };
}

/** One for each commit, however many runs it has. */
async function readStories(
  project: Project,
  runs: readonly AttributedRun[],
  known: CodeSteps,
): Promise<Pick<BlamedFile, 'turns' | 'commits'>> {
  const turns = new Map<Oid, { step: CodeStep & { turn: TurnName }; path: RepoPath }>();
  const commits = new Map<Oid, CodeStep | null>();
  for (const { author, path } of runs) {
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
  const { name, email, time } = parseIdent(author);
  const subject = await maskString(masker, message.split('\n', 1)[0] ?? '');
  return { commit, by: name, email, at: time, subject, session: step?.session ?? null, turn: step?.turn ?? null };
}
