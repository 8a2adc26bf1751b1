/** Finds lines of code that a session's entries added and that are still at the line's tip. */
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { revertsTurn } from '../../session/lines/line-paths.ts';
import type { KnownLine } from '../../session/lines/lines.ts';
import { sortNeeded } from '../../session/text/regex-literals.ts';
import type { TextPattern } from '../../session/text/text-pattern.ts';
import { readStarts, type SessionStart } from '../../session/lines/session-starts.ts';
import { toText } from '../../view/view.ts';
import { isFile, type SearchedText } from './search-texts.ts';

export interface CodeSearch {
  /** Finds texts by line and by the turn that added them. */
  find(lines: readonly KnownLine[]): Promise<Map<KnownLine, Map<TurnName, SearchedText[]>>>;
}

interface CodeRequest {
  patterns: readonly TextPattern[];
  signal: AbortSignal;
}

interface ChangedFile {
  line: KnownLine;
  start: Oid;
  path: RepoPath;
}

/** The number of lines to compare at a time, because their trees are kept in memory. */
const linesAtOnce = 100;

export function openCodeSearch(
  project: Project,
  all: readonly { line: KnownLine }[],
  request: CodeRequest,
): CodeSearch {
  let starts: Promise<Map<SessionId, SessionStart>> | undefined;
  return {
    async find(lines) {
      starts ??= readStarts(
        project,
        all.map(({ line: { session, oid, nearest } }) => ({ session, oid, created: nearest.entry.created })),
      );
      const files = await listChanged(project, await starts, lines);
      const found = new Map<KnownLine, Map<TurnName, SearchedText[]>>();
      for (const blob of await findHolding(project, [...files.keys()], request))
        for (const [line, turn, text] of await findBrought(project, blob, files.get(blob) ?? [], request)) {
          const turns = found.get(line) ?? new Map<TurnName, SearchedText[]>();
          found.set(line, turns.set(turn, [...(turns.get(turn) ?? []), text]));
        }
      return found;
    },
  };
}

/**
 * Lists, by content, each line's files that differ between its start and its tip. A line without a start has lost its
 * history.
 */
async function listChanged(
  { repository: { store } }: Project,
  starts: ReadonlyMap<SessionId, SessionStart>,
  lines: readonly KnownLine[],
): Promise<Map<Oid, ChangedFile[]>> {
  const files = new Map<Oid, ChangedFile[]>();
  const compare = async (line: KnownLine) => {
    const start = starts.get(line.session)?.oid;
    if (start === undefined) return;
    for (const { after, path } of (await store.diffTrees(start, line.oid, { without: dataDir })).filter(isFile))
      if (after !== null) files.set(after, [...(files.get(after) ?? []), { line, start, path }]);
  };
  for (let at = 0; at < lines.length; at += linesAtOnce)
    await Promise.all(lines.slice(at, at + linesAtOnce).map(compare));
  return files;
}

const dataDir = '.teddy' as RepoPath;

async function findHolding(
  { repository: { store } }: Project,
  blobs: Oid[],
  { patterns, signal }: CodeRequest,
): Promise<Oid[]> {
  // Needles in JSON or YAML form do no harm, because teddy then reads the file.
  const [texts] = sortNeeded(patterns.flatMap(({ needles }) => needles));
  if (texts === undefined) return blobs;
  const ignoresCase = patterns.some((pattern) => pattern.ignoresCase);
  const held = await store.searchTrees(blobs, { texts, ignoresCase, paths: ['**'], signal });
  return held.map(({ tree }) => tree as Oid);
}

/** git treats a file with a NUL in this many bytes as binary. */
const textBytes = 8000;

async function findBrought(
  project: Project,
  blob: Oid,
  files: readonly ChangedFile[],
  { patterns }: CodeRequest,
): Promise<[KnownLine, TurnName, SearchedText][]> {
  const bytes = await project.repository.store.readBlob(blob);
  if (bytes.subarray(0, textBytes).includes(0)) return [];
  const text = toText(bytes);
  const holding = patterns.filter((pattern) => pattern.isIn(text));
  const matching = new Set(holding.flatMap((pattern) => pattern.findLines(text).map((line) => line.text)));
  if (matching.size === 0) return [];
  const found = files.map(async ({ line, start, path }) => {
    const turns = new Map<TurnName, Set<string>>();
    const history = openHistory(project, { line, start, path });
    for (const one of matching) {
      const turn = await history.findTurn(one);
      if (turn !== null) turns.set(turn, (turns.get(turn) ?? new Set()).add(one));
    }
    return [...turns].map(([turn, only]): [KnownLine, TurnName, SearchedText] => [
      line,
      turn,
      { place: 'code', title: path, file: path, text, only },
    ]);
  });
  return (await Promise.all(found)).flat();
}

/** Opens a file's versions, from the tip down to the session's start, and reads each one on demand. */
function openHistory(
  { repository: { store } }: Project,
  { line, start, path }: ChangedFile,
): { findTurn(text: string): Promise<TurnName | null> } {
  interface Step {
    oid: Oid;
    entry: Entry | null;
    parent: Oid | null;
    lines: ReadonlySet<string>;
  }
  const steps: Promise<Step>[] = [];
  const read = async (oid: Oid): Promise<Step> => {
    const [{ message, parents }, file] = await Promise.all([store.readCommit(oid), store.readFile(oid, path)]);
    const lines = new Set(toText(file?.bytes ?? null).split(/\r?\n/));
    return { oid, entry: decodeEntry(message), parent: oid === start ? null : (parents[0] ?? null), lines };
  };
  const step = async (at: number): Promise<Step | null> => {
    const parent = at === 0 ? line.oid : ((await steps[at - 1])?.parent ?? null);
    if (parent === null) return null;
    steps[at] ??= read(parent);
    return steps[at] ?? null;
  };
  return {
    /** Returns null when the line of text existed at the start, or came with a user's commit, such as a merge. */
    async findTurn(text) {
      let [above, undone, isBrought]: [TurnName | null, TurnName | null, boolean] = [null, null, false];
      for (let at = 0; ; at += 1) {
        const here = await step(at);
        if (here === null) return null;
        // An undo restores lines from before the run that it reverts.
        if (undone !== null) {
          if (here.entry?.kind === 'report' && here.entry.turn === undone) undone = null;
          continue;
        }
        if (!isBrought && !here.lines.has(text)) return null;
        const turn: TurnName | null = here.entry?.turn ?? null;
        above = turn ?? above;
        if (!isBrought) {
          const below = await step(at + 1);
          if (below === null || (here.entry === null && !below.lines.has(text))) return null;
          isBrought = !below.lines.has(text);
          if (isBrought && here.entry !== null && revertsTurn(here.entry)) [undone, isBrought] = [turn, false];
        }
        // A snapshot of edits made before a message belongs to that message's turn; without a message, it belongs to
        // the turn below.
        if (isBrought && above !== null) return above;
      }
    },
  };
}
