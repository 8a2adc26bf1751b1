/** Compares two trees by reading only the directories that differ, which is faster than starting a git for it. */
import type { TreeChange, TreeEntry } from '../ports/git.ts';
import { repoPathFromGit, type Oid, type RepoPath } from '../names.ts';
import { toTree } from '../session/count-paths.ts';

type ReadTree = (oid: Oid) => Promise<TreeEntry[]>;

/** In git's order. A rename is a deletion and an addition, and so is a file in the place of a directory. */
export async function diffTrees(
  readTree: ReadTree,
  before: Oid | null,
  after: Oid,
  without?: RepoPath,
): Promise<TreeChange[]> {
  const changes: TreeChange[] = [];
  const tell: Tell = (path, old, now) => changes.push(toChange(path, old, now));
  await diffDirectories({ readTree, tell, without }, '', before, after);
  return changes.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

type Tell = (path: string, before: TreeEntry | undefined, after: TreeEntry | undefined) => void;

interface DiffOptions {
  readTree: ReadTree;
  tell: Tell;
  without: RepoPath | undefined;
}

async function diffDirectories(
  options: DiffOptions,
  below: string,
  before: Oid | null,
  after: Oid | null,
): Promise<void> {
  if (before === after) return;
  const { readTree, tell, without } = options;
  const [old, now] = await Promise.all(
    [before, after].map(async (oid) => toMap(oid === null ? [] : await readTree(oid))),
  );
  for (const name of new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])) {
    const [a, b] = [old?.get(name), now?.get(name)];
    if (a?.oid === b?.oid && a?.mode === b?.mode) continue;
    const path = `${below}${a?.name ?? b?.name ?? ''}`;
    if (path === without) continue;
    const [fileBefore, fileAfter] = [toFile(a), toFile(b)];
    if (fileBefore || fileAfter) tell(path, fileBefore, fileAfter);
    await diffDirectories(options, `${path}/`, toTree(a), toTree(b));
  }
}

/** Names that are not UTF-8 may read alike. */
function toMap(entries: TreeEntry[]): Map<string, TreeEntry> {
  return new Map(entries.map((entry) => [entry.rawName ? `\0${entry.rawName.join(' ')}` : entry.name, entry]));
}

function toFile(entry: TreeEntry | undefined): TreeEntry | undefined {
  return entry?.mode === '40000' ? undefined : entry;
}

function toChange(path: string, before: TreeEntry | undefined, after: TreeEntry | undefined): TreeChange {
  return {
    path: repoPathFromGit(path),
    change: before === undefined ? 'added' : after === undefined ? 'deleted' : 'modified',
    before: before?.oid ?? null,
    after: after?.oid ?? null,
    mode: after?.mode ?? null,
  };
}
