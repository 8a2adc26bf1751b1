/**
 * Explains a place in a file: its content, who introduced it and why, the lines that it replaced, and its way to this
 * version.
 */
import { decodeText } from '../../session/text/bytes.ts';
import { listReplaced } from '../../plan/match/diff.ts';
import type { Project } from '../../ports/project.ts';
import { parseIdent, toAuthor } from '../../session/entries/logged-entry.ts';
import type { Oid, RepoPath, TurnName } from '../../names.ts';
import { findSelector } from '../line/find-recorded.ts';
import { maskString } from '../line/mask-text.ts';
import type { AttributedRun, Author } from './attribute-lines.ts';
import { blameFile, type BlamedFile, type BlameRequest, type CommitStory } from './blame-file.ts';
import type { CodeSteps } from './code-steps.ts';
import { groupBy } from '../../session/text/group-by.ts';

/** All lines by one author, with all known facts about them. */
export interface PlaceStory {
  author: Author;
  runs: AttributedRun[];
  /** Null when the lines replaced nothing, or when the replaced lines are unknown. */
  replaced: Replaced | null;
  /** The commit that landed the lines on the requested branch, if it is a different one. */
  landed: Landed | null;
  /**
   * The turn that introduced the lines, or that git guesses, with the name that `-s` accepts for its line; null when
   * there is none.
   */
  shown: { turn: TurnName; selector: string } | null;
}

interface Replaced {
  lines: string[];
  /** True when there were more. */
  isCut: boolean;
}

type Landed = Pick<CommitStory, 'commit' | 'author' | 'at' | 'subject'> & { byNote: boolean };

export interface Why extends BlamedFile {
  stories: PlaceStory[];
}

/** Masks all texts. Throws the errors of `blameFile`. */
export async function explainPlace(project: Project, request: BlameRequest): Promise<Why> {
  const blamed = await blameFile(project, request);
  const groups = groupBy(
    blamed.runs,
    ({ author, uncommitted, guess }) => `${keyOf(author)} ${uncommitted ?? ''} ${guess ? keyOf(guess) : ''}`,
  );
  const head = blamed.commit ?? (await project.repository.store.resolve('HEAD'));
  const stories = [...groups.values()].map((runs) => explainRuns(project, blamed.known, head, runs));
  return { ...blamed, stories: await Promise.all(stories) };
}

function keyOf(author: Author): string {
  return `${author.kind} ${author.kind === 'uncommitted' ? author.isOwn : author.commit}`;
}

async function explainRuns(
  project: Project,
  known: CodeSteps,
  head: Oid | null,
  runs: AttributedRun[],
): Promise<PlaceStory> {
  const { author, guess } = runs[0] as AttributedRun;
  if (author.kind === 'uncommitted') return { author, runs, replaced: null, landed: null, shown: null };
  const [replaced, landed, shown] = await Promise.all([
    author.kind === 'unknown' ? null : findReplaced(project, author.commit, runs),
    author.kind === 'unknown' || head === null ? null : findLanding(project, known, author, head),
    findShown(project, known, author.kind === 'turn' ? author : guess),
  ]);
  return { author, runs, replaced, landed, shown };
}

async function findShown(
  project: Project,
  { originals }: CodeSteps,
  author: Author | undefined,
): Promise<PlaceStory['shown']> {
  if (author?.kind !== 'turn') return null;
  const { session, turn, step, commit } = author;
  return { turn, selector: await findSelector(project, session, turn, originals.get(step.entry ?? '') ?? commit) };
}

/** The maximum number of lines to show, and the maximum number that may differ between two versions of a file. */
const [maxShown, maxChanged] = [20, 2_000];

/** Finds the lines that the previous version has in this place. */
async function findReplaced(project: Project, commit: Oid, runs: readonly AttributedRun[]): Promise<Replaced | null> {
  const { store } = project.repository;
  const [parent] = (await store.readCommit(commit)).parents;
  const path = runs[0]?.path;
  if (parent === undefined || path === undefined) return null;
  const texts = await Promise.all([parent, commit].map((oid) => readText(project, oid, path)));
  const [before, after] = texts;
  if (before == null || after == null) return null;
  const isHit = (start: number, count: number) =>
    runs.some(({ originalLine, texts: { length } }) => start < originalLine + length && originalLine < start + count);
  const hits = listReplaced(before, after, maxChanged)?.filter(({ start, count }) => isHit(start, count)) ?? [];
  const lines = hits.flatMap(({ removed }) => removed);
  if (lines.length === 0) return null;
  const shown = await maskString(project.masker, lines.slice(0, maxShown).join('\n'));
  return { lines: shown.split('\n'), isCut: lines.length > maxShown };
}

async function readText({ repository: { store } }: Project, commit: Oid, path: RepoPath): Promise<string | null> {
  const file = await store.readFile(commit, path);
  return file === null ? null : decodeText(file.bytes);
}

/**
 * Finds the first landing of the commit's line in the requested history; returns null when that history contains the
 * commit itself, or only its content.
 */
async function findLanding(
  project: Project,
  { steps, grafts }: CodeSteps,
  { commit, byNote }: { commit: Oid; byNote: Oid | null },
  head: Oid,
): Promise<Landed | null> {
  const { store } = project.repository;
  if (byNote !== null && (await store.isAncestor(byNote, head))) return readLanded(project, byNote, { byNote: true });
  const step = steps.get(commit);
  if (step === undefined || (await store.isAncestor(commit, head))) return null;
  const landings = [...steps.values()]
    .filter(({ kind, session, seconds }) => kind === 'landing' && session === step.session && seconds >= step.seconds)
    .toSorted((a, b) => a.seconds - b.seconds);
  for (const { oid } of landings) {
    const { parents } = await store.readCommit(oid);
    const tips = grafts.get(oid)?.filter((tip) => !parents.includes(tip)) ?? [];
    for (const tip of tips)
      if ((await store.isAncestor(commit, tip)) && (await store.isAncestor(oid, head)))
        return readLanded(project, oid, { byNote: false });
  }
  return null;
}

async function readLanded(project: Project, commit: Oid, { byNote }: Pick<Landed, 'byNote'>): Promise<Landed> {
  const { author, message } = await project.repository.store.readCommit(commit);
  const subject = await maskString(project.masker, message.split('\n', 1)[0] ?? '');
  return { commit, author: toAuthor(author), at: parseIdent(author).time, subject, byNote };
}
