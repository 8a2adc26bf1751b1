/** Merges and ancestry in memory: whole files, no renames. git's own merges are left to tests on real git. */
import type { Store, TreeFile, TreeMode } from '../../src/ports/git.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import { listFiles, readCommit, type MemoryDisk } from './memory-objects.ts';
import { writeTreeOf } from './memory-workspace.ts';

type Merges = Pick<Store, 'mergeBase' | 'findReachable' | 'mergeTrees'>;

export function memoryMerges(disk: MemoryDisk): Merges {
  return {
    async mergeBase(commit, others) {
      const reached = new Set(
        (await Promise.all(others.map((one) => listAncestors(disk, one)))).flatMap((set) => [...set]),
      );
      const shared = [...(await listAncestors(disk, commit))].filter((oid) => reached.has(oid));
      const older = new Set<Oid>();
      for (const oid of shared) for (const one of await listAncestors(disk, oid)) if (one !== oid) older.add(one);
      return shared.find((oid) => !older.has(oid)) ?? null;
    },
    async findReachable(text, from, not) {
      const excluded = new Set(
        (await Promise.all(not.map((one) => listAncestors(disk, one)))).flatMap((set) => [...set]),
      );
      const found: Oid[] = [];
      for (const oid of await listAncestors(disk, from))
        if (!excluded.has(oid) && (await readCommit(disk, oid)).message.includes(text)) found.push(oid);
      return found;
    },
    mergeTrees: (base, ours, theirs) => mergeTrees(disk, base, ours, theirs),
  };
}

/** The nearest first. */
export async function listAncestors(disk: MemoryDisk, from: Oid): Promise<Set<Oid>> {
  const seen = new Set<Oid>();
  const waiting = [from];
  for (let oid = waiting.shift(); oid !== undefined; oid = waiting.shift()) {
    if (seen.has(oid)) continue;
    seen.add(oid);
    waiting.push(...(await readCommit(disk, oid)).parents);
  }
  return seen;
}

async function mergeTrees(disk: MemoryDisk, ...trees: [Oid, Oid, Oid]): ReturnType<Store['mergeTrees']> {
  const [base, ours, theirs] = await Promise.all(trees.map(async (tree) => toMap(await listFiles(disk, tree))));
  const merged = new Map<RepoPath, { mode: TreeMode; oid: Oid }>();
  const conflicts: RepoPath[] = [];
  for (const path of new Set([base, ours, theirs].flatMap((files) => [...(files?.keys() ?? [])]))) {
    const [was, our, their] = [base, ours, theirs].map((files) => files?.get(path));
    const [wasText, ourText, theirText] = [was, our, their].map((file) => file && `${file.mode} ${file.oid}`);
    const kept = ourText === wasText ? their : our;
    if (ourText !== theirText && ourText !== wasText && theirText !== wasText) conflicts.push(path);
    else if (kept !== undefined) merged.set(path, { mode: kept.mode, oid: kept.oid });
  }
  if (conflicts.length > 0) return { tree: null, conflicts: conflicts.toSorted() };
  return { tree: await writeTreeOf(disk, merged), conflicts: [] };
}

function toMap(files: TreeFile[]): Map<RepoPath, TreeFile> {
  return new Map(files.map((file) => [file.path, file]));
}
