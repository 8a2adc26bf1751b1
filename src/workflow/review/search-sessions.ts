/** Finds words in what was said in all sessions: messages, plans and answers; the newest session comes first. */
import { TeddyError } from '../../errors.ts';
import { isTurnName, sessionDir, shortRef, sortTurns, type Oid, type SessionId, type TurnName } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { listLines, type KnownLine } from '../../session/lines.ts';
import { readTurnParts } from './turn-parts.ts';

export interface SearchRequest {
  text: string;
  /** At most this many turns are returned. */
  limit: number;
  signal: AbortSignal;
}

interface FoundTurn {
  session: SessionId;
  /** A branch, or an archive. */
  line: string;
  turn: TurnName;
  /** The label of the last entry of the line. */
  title: string;
  /** The name and the address of whoever committed that entry. */
  author: string;
  matches: { part: string; text: string }[];
}

export interface FoundTurns {
  turns: FoundTurn[];
  /** There may be more. */
  isCut: boolean;
  /** How many lines were searched. */
  lines: number;
}

/** The first words count. */
const maxWords = 8;
const maxMatches = 3;
const maxShown = 240;
/** So many files are read at most: a word that is in all of them says nothing. */
const maxRead = 200;

/** Throws USAGE when there is no word to look for, and what `Store.searchTrees` throws. */
export async function searchSessions(project: Project, { text, limit, signal }: SearchRequest): Promise<FoundTurns> {
  const words = toWords(text);
  const { store } = project.repository;
  const lines = await listTrees(project);
  const query = { words, names: ['transcript.jsonl', 'plan.md'], signal };
  const files = await store.searchTrees([...lines.keys()], query);
  const turns: FoundTurn[] = [];
  const known = new Set<string>();
  const candidates = toCandidates(files);
  for (const { tree, turn } of candidates.slice(0, maxRead)) {
    if (turns.length === limit || signal.aborted) break;
    const line = lines.get(tree);
    if (line === undefined || known.has(`${line.session} ${turn}`)) continue;
    const matches = await findMatches(project, line, turn, words);
    if (matches.length === 0) continue;
    // Another line of the session has the same turn, up to where they part.
    known.add(`${line.session} ${turn}`);
    turns.push({ ...(await describe(project, line)), turn, matches });
  }
  const isCut = turns.length === limit || candidates.length > maxRead;
  return { turns, isCut, lines: lines.size };
}

/** A quotation mark and a backslash are written with others in a transcript. */
function toWords(text: string): string[] {
  const words = text.split(/["\\\s\p{Cc}]+/u).filter((word) => word !== '');
  if (words.length > 0) return [...new Set(words)].slice(0, maxWords);
  throw new TeddyError('USAGE', 'There is no word to search for.', 'Give one or more words that were said.');
}

/** The directory of each line's session, in the tree of its last entry; those that were worked on last come first. */
async function listTrees(project: Project): Promise<Map<Oid, KnownLine>> {
  const { store } = project.repository;
  const lines = (await listLines(project, { archived: true })).toSorted((a, b) =>
    a.nearest.entry.id < b.nearest.entry.id ? 1 : -1,
  );
  const trees = await Promise.all(lines.map(({ nearest, session }) => store.readDir(nearest.oid, sessionDir(session))));
  const found = new Map<Oid, KnownLine>();
  for (const [at, line] of lines.entries()) {
    const tree = trees[at]?.oid;
    if (tree !== undefined && !found.has(tree)) found.set(tree, line);
  }
  return found;
}

/** The turns of each tree, the newest first. */
function toCandidates(files: readonly { tree: Oid; path: string }[]): { tree: Oid; turn: TurnName }[] {
  const turns = new Map<Oid, Set<TurnName>>();
  for (const { tree, path } of files) {
    const [turn = '', ...rest] = path.split('/');
    if (rest.length === 1 && isTurnName(turn)) turns.set(tree, (turns.get(tree) ?? new Set()).add(turn));
  }
  return [...turns].flatMap(([tree, names]) =>
    sortTurns([...names])
      .toReversed()
      .map((turn) => ({ tree, turn })),
  );
}

async function findMatches(
  project: Project,
  { nearest, session }: KnownLine,
  turn: TurnName,
  words: readonly string[],
): Promise<FoundTurn['matches']> {
  const wanted = words.map((word) => word.toLowerCase());
  const matches: FoundTurn['matches'] = [];
  const { parts } = await readTurnParts(project, { commit: nearest.oid, session, turn });
  for (const part of parts) {
    if (part.tool !== undefined || /^Re(?:sult|port)/.test(part.title)) continue;
    if (!wanted.some((word) => part.text.toLowerCase().includes(word))) continue;
    // It is masked as a whole: nobody recognizes half a secret.
    const { text } = await project.masker.mask(part.text, part.file);
    for (const line of text.split('\n')) {
      const at = Math.min(...wanted.map((word) => line.toLowerCase().indexOf(word)).filter((found) => found !== -1));
      if (at === Infinity) continue;
      matches.push({ part: part.title, text: cutAround(line, at) });
      if (matches.length === maxMatches) return matches;
    }
  }
  return matches;
}

function cutAround(line: string, at: number): string {
  const from = Math.max(0, Math.min(at - maxShown / 4, line.length - maxShown));
  const shown = line.slice(from, from + maxShown).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
  return `${from > 0 ? '...' : ''}${shown}${from + maxShown < line.length ? '...' : ''}`.trim();
}

async function describe(
  { repository: { store } }: Project,
  { session, ref, nearest }: KnownLine,
): Promise<Pick<FoundTurn, 'session' | 'line' | 'title' | 'author'>> {
  const { author } = await store.readCommit(nearest.oid);
  const { title } = nearest.entry;
  return {
    session,
    line: shortRef(ref).replace(/^refs\/teddy\//, ''),
    title,
    author: author.replace(/ \d+ [+-]\d{4}$/, ''),
  };
}
