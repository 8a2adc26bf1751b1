/** Searches messages, plans, runs and written files in all sessions; the session worked on last comes first. */
import {
  isTurnName,
  nameRef,
  sessionDir,
  shortRef,
  sortTurns,
  turnDir,
  type SessionId,
  type TurnName,
} from '../../names.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { entryTime } from '../../session/entries/logged-entry.ts';
import { listLines, type KnownLine } from '../../session/lines/lines.ts';
import { sortNeeded } from '../../session/text/regex-literals.ts';
import { cutLine, type FoundLine, type SearchScope, type TextPattern } from '../../session/text/text-pattern.ts';
import { openCodeSearch, type CodeSearch } from './search-code.ts';
import { readSearchedTurn, type SearchedText } from './search-texts.ts';

export interface SearchRequest {
  /** A turn must match all patterns. */
  patterns: readonly TextPattern[];
  places: readonly SearchScope[];
  /** Finds only turns with a record since this time; null for all turns. */
  sinceMs: number | null;
  /** The number of characters to return from a line, around its first match. */
  width: number;
  signal: AbortSignal;
}

export interface FoundTurn {
  line: KnownLine;
  /** The name for display: a branch, which may be a remote's, or an archive. */
  lineName: string;
  /** The line's name for `teddy show -s`. */
  selector: string;
  turn: TurnName;
  /** The title of the turn's plan, or the beginning of its message. */
  title: string;
  /** The time of the turn's last record, in ISO 8601. */
  at: string;
  matches: FoundMatch[];
}

/** A line with a match, clipped and masked. */
export interface FoundMatch extends Pick<SearchedText, 'place' | 'title' | 'file'>, Pick<FoundLine, 'text' | 'marks'> {
  /** The line number in the file, from 1; null when the text is not a line in a file. */
  number: number | null;
}

export interface Search {
  /** The number of session lines that were searched. */
  lines: number;
  /** The found turns; the search ends when the caller stops reading. */
  turns: AsyncIterable<FoundTurn>;
}

/** The first batch is small, for callers that want only a few turns; later batches are larger, which costs less. */
const firstLines = 200;
const growth = 5;
/** For each group, git searches the results of the group before. */
const maxGroups = 3;
const turnsAtOnce = 16;

/** Throws the errors of `Store.searchTrees`; reading the turns may throw the same errors. */
export async function searchSessions(project: Project, request: SearchRequest): Promise<Search> {
  const lines = await listSearched(project, request.sinceMs);
  return { lines: lines.length, turns: findTurns(project, lines, request) };
}

interface SearchedLine extends Pick<FoundTurn, 'line' | 'lineName' | 'selector'> {
  time: string;
  /** Sorts by time, like entry IDs. */
  order: string;
  /** The session's directory. */
  tree: string;
}

/**
 * Lists the lines session by session, with each session's main line first, so that it claims the turns that several
 * lines share.
 */
async function listSearched(project: Project, sinceMs: number | null): Promise<SearchedLine[]> {
  const latest = new Date(project.clock.now().getTime() + 600_000).toISOString();
  const sessions = new Map<SessionId, SearchedLine[]>();
  for (const line of await listLines(project, { archived: true })) {
    const others = sessions.get(line.session) ?? [];
    if (others.some((other) => isCovered(line, other.line))) continue;
    const time = entryTime(line.nearest.entry);
    // A date in the future must not make a session the newest.
    const order = `${time > latest ? 0 : 1} ${line.nearest.entry.id}`;
    others.push({ ...nameLine(line, others), line, time, order, tree: toTree(line) });
    sessions.set(line.session, others);
  }
  const byTime = (a: SearchedLine, b: SearchedLine) => (a.order < b.order ? 1 : a.order > b.order ? -1 : 0);
  const rank = ({ line: { isMain, branch, remote } }: SearchedLine) =>
    (isMain ? 0 : branch === null ? 2 : 4) + (remote === null ? 0 : 1);
  const all = [...sessions.values()]
    .map((lines) => lines.sort(byTime))
    .sort(([a], [b]) => (a && b ? byTime(a, b) : 0))
    .flatMap((lines) => lines.sort((a, b) => rank(a) - rank(b)));
  return sinceMs === null ? all : all.filter(({ time }) => Date.parse(time) >= sinceMs);
}

/**
 * Returns true if the other line has the same content, or the line is an archive and its branch exists. Branches come
 * first in the list.
 */
function isCovered(line: KnownLine, other: KnownLine): boolean {
  if (line.nearest.oid === other.nearest.oid) return true;
  return line.isArchived && other.remote === null && other.branchRef === line.branchRef;
}

function nameLine(line: KnownLine, others: readonly SearchedLine[]): Pick<SearchedLine, 'lineName' | 'selector'> {
  const { session, ref, branchRef, isMain } = line;
  const lineName = nameRef(ref);
  const isNamesake = others.some((other) => other.line.branchRef === branchRef);
  return { lineName, selector: isNamesake ? lineName : isMain ? session : shortRef(branchRef) };
}

function toTree({ nearest, session }: KnownLine): string {
  return `${nearest.oid}:${sessionDir(session)}`;
}

interface Candidate {
  searched: SearchedLine;
  turn: TurnName;
  code: SearchedText[];
}

async function* findTurns(
  project: Project,
  lines: readonly SearchedLine[],
  request: SearchRequest,
): AsyncGenerator<FoundTurn> {
  const ending = new AbortController();
  const searching = { ...request, signal: AbortSignal.any([request.signal, ending.signal]) };
  const code = request.places.includes('code') ? openCodeSearch(project, lines, searching) : null;
  const chunks = toChunks(lines);
  const find = (chunk: readonly SearchedLine[] | undefined) => {
    const found = chunk === undefined ? null : findCandidates(project.repository.store, chunk, searching, code);
    // The caller who awaits the search receives the error.
    found?.catch(() => undefined);
    return found;
  };
  try {
    let next = find(chunks[0]);
    const seen = openSeen();
    for (let at = 0; next !== null; at += 1) {
      const candidates = await next;
      // git continues the search while teddy reads these results.
      next = find(chunks[at + 1]);
      for (let from = 0; from < candidates.length; from += turnsAtOnce) {
        const some = candidates.slice(from, from + turnsAtOnce);
        for (const found of await Promise.all(some.map((one) => readMatches(project, one, request)))) {
          const unseen = found && seen.takeUnseen(found);
          if (unseen) yield unseen;
        }
      }
    }
  } finally {
    ending.abort();
  }
}

function toChunks(lines: readonly SearchedLine[]): SearchedLine[][] {
  const chunks: SearchedLine[][] = [];
  for (let [at, count] = [0, firstLines]; at < lines.length; [at, count] = [at + count, count * growth])
    chunks.push(lines.slice(at, at + count));
  return chunks;
}

/** Omits turns that another of the session's lines has already shown, because branches share their beginning. */
function openSeen(): { takeUnseen(found: FoundTurn): FoundTurn | null } {
  let session: SessionId | null = null;
  let seen = new Set<string>();
  return {
    takeUnseen(found) {
      if (found.line.session !== session) seen = new Set();
      ({ session } = found.line);
      const toKey = ({ place, file, number, text }: FoundMatch) =>
        JSON.stringify([found.turn, place, file, number, text]);
      const matches = found.matches.filter((match) => !seen.has(toKey(match)));
      for (const match of matches) seen.add(toKey(match));
      return matches.length === 0 ? null : { ...found, matches };
    },
  };
}

/** Finds the turns that may contain a match, line by line, newest first. */
async function findCandidates(
  store: Store,
  lines: readonly SearchedLine[],
  request: SearchRequest,
  code: CodeSearch | null,
): Promise<Candidate[]> {
  const turns = await findWithNeedles(store, lines, request);
  const brought =
    (await code?.find(lines.map(({ line }) => line))) ?? new Map<KnownLine, Map<TurnName, SearchedText[]>>();
  return lines.flatMap((searched) => {
    const ofCode = brought.get(searched.line) ?? new Map<TurnName, SearchedText[]>();
    const names = new Set([...(turns.get(searched.tree) ?? []), ...ofCode.keys()]);
    return sortTurns([...names])
      .toReversed()
      .map((turn) => ({ searched, turn, code: ofCode.get(turn) ?? [] }));
  });
}

type TurnsOfTree = Map<string, Set<TurnName>>;

async function findWithNeedles(
  store: Store,
  lines: readonly SearchedLine[],
  { patterns, places, signal }: SearchRequest,
): Promise<TurnsOfTree> {
  const paths = toPaths(places);
  if (paths.length === 0) return new Map();
  const groups = sortNeeded(patterns.flatMap(({ needles }) => needles)).slice(0, maxGroups);
  const ignoresCase = patterns.some((pattern) => pattern.ignoresCase);
  let found: TurnsOfTree | null = null;
  for (const texts of groups) {
    const trees: string[] = found === null ? lines.map(({ tree }) => tree) : [...found.keys()];
    const holding = toTurns(await store.searchTrees(trees, { texts, ignoresCase, paths, signal }));
    found = found === null ? holding : intersect(found, holding);
  }
  return found ?? listTurns(store, lines);
}

function toPaths(places: readonly SearchScope[]): string[] {
  const names: Record<SearchScope, string[]> = {
    message: ['*/transcript.jsonl'],
    answer: ['*/transcript.jsonl'],
    plan: ['*/plan.md'],
    report: ['*/transcript.jsonl', '*/report.md', '*/output/*', '*/pages/*'],
    code: [],
  };
  return [...new Set(places.flatMap((place) => names[place]))];
}

function toTurns(files: readonly { tree: string; path: string }[]): TurnsOfTree {
  const turns: TurnsOfTree = new Map();
  for (const { tree, path } of files) {
    const turn = path.slice(0, path.indexOf('/'));
    if (isTurnName(turn)) turns.set(tree, (turns.get(tree) ?? new Set()).add(turn));
  }
  return turns;
}

function intersect(one: TurnsOfTree, other: TurnsOfTree): TurnsOfTree {
  const both = [...one].map(([tree, turns]) => {
    const held = other.get(tree);
    return [tree, new Set([...turns].filter((turn) => held?.has(turn)))] as const;
  });
  return new Map(both.filter(([, turns]) => turns.size > 0));
}

/** Lists all turns when no text narrows down the possible matches. */
async function listTurns(store: Store, lines: readonly SearchedLine[]): Promise<TurnsOfTree> {
  const listed = lines.map(async ({ line: { nearest, session }, tree }) => {
    const dir = await store.readDir(nearest.oid, sessionDir(session));
    return [tree, new Set((dir?.entries ?? []).map(({ name }) => name).filter(isTurnName))] as const;
  });
  return new Map(await Promise.all(listed));
}

/** Returns null when a pattern has no match, or only within a secret. */
async function readMatches(
  project: Project,
  { searched: { line, lineName, selector, time }, turn, code }: Candidate,
  request: SearchRequest,
): Promise<FoundTurn | null> {
  const { patterns, places, sinceMs } = request;
  const { store } = project.repository;
  const dir = await store.readDir(line.nearest.oid, turnDir(line.session, turn));
  const read = await readSearchedTurn(store, dir?.entries ?? [], places);
  const said = read.time === '' ? time : read.time;
  if (sinceMs !== null && Date.parse(said) < sinceMs) return null;
  const texts = [...read.texts, ...code];
  const isHeld = (pattern: TextPattern) => texts.some((text) => holds(text, pattern));
  if (!patterns.every(isHeld)) return null;
  const found = await Promise.all(texts.map((text) => findInText(project, text, request)));
  if (!patterns.every((_, at) => found.some(({ held }) => held.has(at)))) return null;
  const matches = found.flatMap(({ matches: some }) => some);
  const title = (await project.masker.mask(read.title)).text;
  return { line, lineName, selector, turn, title, at: said, matches };
}

function holds({ text, values = [] }: SearchedText, { isIn }: TextPattern): boolean {
  return isIn(text) || values.some(isIn);
}

/**
 * Searches the masked text, so that nobody can discover a secret by searching for it. `held` contains the indexes of
 * the patterns that match.
 */
async function findInText(
  project: Project,
  searched: SearchedText,
  { patterns, width }: SearchRequest,
): Promise<{ matches: FoundMatch[]; held: Set<number> }> {
  const { place, title, file, text, values = [], only } = searched;
  const held = new Set<number>();
  const find = async (whole: string): Promise<FoundLine[]> => {
    if (!patterns.some(({ isIn }) => isIn(whole))) return [];
    // Masks the whole text before cutting it into lines, because teddy would not recognize half a secret.
    const masked = (await project.masker.mask(whole, file ?? undefined)).text;
    const lines = new Map<number, FoundLine>();
    for (const [at, pattern] of patterns.entries())
      for (const line of pattern.findLines(masked)) {
        if (only !== undefined && !only.has(line.text) && !line.text.includes('[masked: ')) continue;
        held.add(at);
        const marks = [...(lines.get(line.number)?.marks ?? []), ...line.marks];
        lines.set(line.number, { ...line, marks: marks.toSorted((a, b) => a.start - b.start) });
      }
    return [...lines.values()].toSorted((a, b) => a.number - b.number);
  };
  const lines = await find(text);
  const ofValues = (await Promise.all(values.map(find))).flat();
  // A value that the file shows in the same form is already a match.
  const others = ofValues.filter((value) => !lines.some((line) => line.text.includes(value.text)));
  const toMatch = ({ text: found, marks }: FoundLine, number: number | null): FoundMatch => ({
    place,
    title,
    file,
    number,
    ...cutLine({ text: found, marks }, width),
  });
  return {
    matches: [
      ...lines.map((line) => toMatch(line, file === null ? null : line.number)),
      ...others.map((line) => toMatch(line, null)),
    ],
    held,
  };
}
