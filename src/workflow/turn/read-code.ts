/** What code a turn has changed: its report commit against the commit before. */
import { TeddyError } from '../../errors.ts';
import type { Store, TreeFile } from '../../ports/git.ts';
import { decodeEntry } from '../../session/entry.ts';
import type { Oid, RepoPath, TurnName } from '../../names.ts';
import type { LineState } from '../line/read.ts';

export interface UndoChange {
  path: RepoPath;
  /** Null: the turn added it. */
  before: TreeFile | null;
  /** Null: the turn deleted it. */
  after: TreeFile | null;
}

export interface TurnCode {
  turn: TurnName;
  changes: UndoChange[];
}

/** The code of this turn, else of the newest that has some and is not undone. Throws NOTHING_TO_UNDO. */
export async function findUndoable(store: Store, state: LineState, wanted: TurnName | null): Promise<TurnCode> {
  const undone = new Set<TurnName>();
  for await (const { oid, commit } of store.firstParents(state.tip)) {
    const entry = decodeEntry(commit.message);
    if (entry === null || entry.session !== state.session || entry.turn === null) continue;
    if (entry.kind === 'undo') undone.add(entry.turn);
    if (entry.kind !== 'report' || (wanted === null ? undone.has(entry.turn) : entry.turn !== wanted)) continue;
    const changes = await readChanges(store, commit.parents[0] ?? null, oid);
    if (changes.length > 0) return { turn: entry.turn, changes };
    if (wanted !== null) break;
  }
  throw new TeddyError(
    'NOTHING_TO_UNDO',
    wanted === null ? `No turn of this line has code to take back.` : `Turn ${wanted} has changed no code.`,
    '`teddy session log` shows the turns.',
  );
}

async function readChanges(store: Store, before: Oid | null, after: Oid): Promise<UndoChange[]> {
  if (before === null) return [];
  const paths = (await store.diffTrees(before, after)).map(({ path }) => path).filter((path) => !isTeddys(path));
  if (paths.length === 0) return [];
  const [old, made] = await Promise.all([readFiles(store, before), readFiles(store, after)]);
  return paths.map((path) => ({ path, before: old.get(path) ?? null, after: made.get(path) ?? null }));
}

function isTeddys(path: RepoPath): boolean {
  return path.startsWith('.teddy/');
}

async function readFiles(store: Store, treeish: Oid): Promise<Map<RepoPath, TreeFile>> {
  return new Map((await store.listTree(treeish)).map((file) => [file.path, file]));
}
