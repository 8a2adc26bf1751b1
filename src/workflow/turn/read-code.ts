/**
 * Finds the code that a turn has changed: its report compared with the preceding commit, or everything that another
 * agent did in the turn.
 */
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import type { Entry } from '../../session/entries/entry.ts';
import type { Oid, RepoPath, TurnName } from '../../names.ts';
import { undoneExtent, mayChangeCode, revertsTurn } from '../../session/lines/line-paths.ts';
import { readCodeFiles, type CodeFile } from '../line/edited-code.ts';
import type { LineState } from '../../view/view.ts';

export interface UndoChange {
  path: RepoPath;
  /** Null when the turn added the file. */
  before: CodeFile | null;
  /** Null when the turn deleted the file. */
  after: CodeFile | null;
}

export interface TurnCode {
  turn: TurnName;
  changes: UndoChange[];
  /** The turn's last undo. */
  lastUndo: Entry | null;
}

/**
 * Yields the wanted turn's code, otherwise the code of turns that have some and are not completely undone, newest
 * first. Throws NOTHING_TO_UNDO after the last.
 */
export async function* listUndoable(
  store: Store,
  state: LineState,
  wanted: TurnName | null,
): AsyncGenerator<TurnCode, never> {
  const undone = new Map<TurnName, Entry>();
  const given = new Set<TurnName>();
  for await (const { oid, commit } of store.firstParents(state.tip)) {
    const entry = decodeEntry(commit.message);
    if (entry === null || entry.session !== state.session || entry.turn === null) continue;
    if (entry.kind === 'undo' && !undone.has(entry.turn)) undone.set(entry.turn, entry);
    // Only another agent's snapshot has a head.
    if (entry.kind !== 'report' && entry.head === undefined) continue;
    const lastUndo = undone.get(entry.turn) ?? null;
    if (wanted === null ? undoneExtent(lastUndo) === 'whole' : entry.turn !== wanted) continue;
    if (given.has(entry.turn)) continue;
    const isReport = entry.kind === 'report';
    const before = isReport ? (commit.parents[0] ?? null) : await findBefore(store, oid, entry.turn);
    const changes = await readChanges(store, before, oid);
    if (changes.length === 0) continue;
    given.add(entry.turn);
    yield { turn: entry.turn, changes, lastUndo };
  }
  throw new TeddyError(
    'NOTHING_TO_UNDO',
    wanted === null ? `No turn on this session's branch has code to undo.` : `Turn ${wanted} has changed no code.`,
    describeWayOut([...undone].find(([, last]) => undoneExtent(last) !== null)?.[0]),
  );
}

function describeWayOut(undone: TurnName | undefined): string {
  const log = '`teddy log` shows the turns';
  return undone === undefined ? `${log}.` : `${log}; \`teddy undo ${undone}\` puts turn ${undone} back.`;
}

/** Reads the changes that the turn's undos reverted, without those that have already been restored. */
export async function findTaken(store: Store, state: LineState, turn: TurnName): Promise<UndoChange[]> {
  const taken = new Map<RepoPath, UndoChange | null>();
  for await (const { oid, commit } of store.firstParents(state.tip)) {
    const entry = decodeEntry(commit.message);
    if (entry?.session !== state.session || entry.turn !== turn || !mayChangeCode(entry.kind)) continue;
    if (entry.kind !== 'undo') break;
    // Newest first: the last undo of a file counts.
    for (const change of await readChanges(store, commit.parents[0] ?? null, oid))
      if (!taken.has(change.path)) taken.set(change.path, revertsTurn(entry) ? change : null);
  }
  return [...taken.values()].filter((change) => change !== null).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** The last commit before the turn. */
async function findBefore(store: Store, from: Oid, turn: TurnName): Promise<Oid | null> {
  for await (const { oid, commit } of store.firstParents(from))
    if (decodeEntry(commit.message)?.turn !== turn) return oid;
  return null;
}

async function readChanges(store: Store, before: Oid | null, after: Oid): Promise<UndoChange[]> {
  if (before === null) return [];
  const changed = (await store.diffTrees(before, after)).map(({ path }) => path);
  const paths = changed.filter((path) => !path.startsWith('.teddy/'));
  const [old, made] = await Promise.all(
    [before, after].map(async (commit) => readCodeFiles(store, (await store.readCommit(commit)).tree, paths)),
  );
  return paths.map((path, at) => ({ path, before: old?.[at] ?? null, after: made?.[at] ?? null }));
}
