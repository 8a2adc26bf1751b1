/** The results of blame in the form of `--json` and of the tool for agents. */
import type { Oid, RepoPath } from '../../names.ts';
import type { Author } from './attribute-lines.ts';
import type { BlamedFile, CommitStory } from './blame-file.ts';
import type { TurnStory } from './read-story.ts';
import type { PlaceStory, Why } from './why.ts';

/** The author of the lines. `source` is the commit that introduced them. */
interface AuthorDocument {
  kind: Author['kind'];
  source?: Oid;
  byContent?: boolean;
  /** The squash whose note led to the lines. */
  byNote?: Oid;
  /**
   * True when the lines belong to that turn but exist only in the work tree, or are the user's own edit in the work
   * tree that an agent's line also contains.
   */
  uncommitted?: true;
  ownEdit?: true;
  /** The author that git guesses beyond a commit in `blame.ignoreRevsFile`. */
  guess?: AuthorDocument;
  /** The reason why the author is unknown. */
  reason?: string;
  turn?: TurnStory | null;
  person?: CommitStory | null;
}

export interface BlameDocument {
  path: RepoPath;
  /** Null for the file as it is on disk. */
  commit: Oid | null;
  runs: (AuthorDocument & {
    line: number;
    count: number;
    originalLine: number;
    originalPath: RepoPath;
    texts: string[];
  })[];
}

export interface WhyDocument {
  path: RepoPath;
  commit: Oid | null;
  stories: (AuthorDocument & {
    lines: { line: number; count: number; texts: string[] }[];
    /** The previous lines; null when there were none, or when they are unknown. */
    replaced: string[] | null;
    landed: PlaceStory['landed'];
    /** The name that `-s` accepts for its turn's line; null when the line has none. */
    selector: string | null;
  })[];
}

export function toBlameDocument({ path, commit, runs, ...stories }: BlamedFile): BlameDocument {
  return {
    path,
    commit,
    runs: runs.map(({ line, originalLine, path: originalPath, texts, author, uncommitted, guess }) => ({
      line,
      count: texts.length,
      originalLine,
      originalPath,
      ...toAuthor(author, stories),
      ...(uncommitted ? { uncommitted } : {}),
      ...(guess ? { guess: toAuthor(guess, stories) } : {}),
      texts,
    })),
  };
}

export function toWhyDocument(why: Why): WhyDocument {
  return {
    path: why.path,
    commit: why.commit,
    stories: why.stories.map(({ author, runs, replaced, landed, shown }) => ({
      lines: runs.map(({ line, texts }) => ({ line, count: texts.length, texts })),
      ...toAuthor(author, why),
      ...(runs[0]?.uncommitted ? { uncommitted: true } : {}),
      ...(runs[0]?.guess ? { guess: toAuthor(runs[0].guess, why) } : {}),
      replaced: replaced?.lines ?? null,
      landed,
      selector: shown?.selector ?? null,
    })),
  };
}

function toAuthor(author: Author, { turns, commits }: Pick<BlamedFile, 'turns' | 'commits'>): AuthorDocument {
  if (author.kind === 'uncommitted') return { kind: author.kind, ...(author.isOwn ? { ownEdit: true } : {}) };
  const { kind, commit: source } = author;
  if (author.kind === 'unknown') return { kind: author.kind, source, reason: author.reason };
  const found = { byContent: author.byContent, ...(author.byNote === null ? {} : { byNote: author.byNote }) };
  if (kind === 'turn') return { kind, source, ...found, turn: turns.get(source) ?? null };
  return { kind, source, ...found, person: commits.get(source) ?? null };
}
