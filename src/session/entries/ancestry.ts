/** The order of a line's commits: along first parents only. Merged commits do not belong to the line. */
import type { Commit, SessionStore } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';

/** Returns true if `tip` is `commit` or continues it along first parents. */
export async function isOnLine(store: SessionStore, tip: Oid, commit: Oid): Promise<boolean> {
  if (tip === commit) return true;
  if (!(await store.isAncestor(commit, tip))) return false;
  let oldest: Commit | null = null;
  for await (const found of store.firstParents(tip, [commit])) oldest = found.commit;
  return oldest?.parents[0] === commit;
}

/** The maximum number of lines to check; each takes a git process or two. */
const maxLines = 64;

/** Returns true if one of the tips is on the commit's line; false also when there are too many tips to check. */
export async function isOnAnyLine(store: SessionStore, tips: readonly Oid[], commit: Oid): Promise<boolean> {
  if (tips.includes(commit)) return true;
  for (const tip of tips.slice(0, maxLines)) if (await isOnLine(store, tip, commit)) return true;
  return false;
}

/** Finds a line's newest commit that is also reachable from one of `lines`, through any parents; null if there is none. */
export async function findFork(store: SessionStore, tip: Oid, lines: readonly Oid[]): Promise<Oid | null> {
  let oldest: Commit | null = null;
  for await (const found of store.firstParents(tip, [...lines])) oldest = found.commit;
  return oldest === null ? tip : (oldest.parents[0] ?? null);
}
