/** How the commits of a line follow each other: along first parents only. Merged commits do not belong to the line. */
import type { Commit, SessionStore } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';

/** Tells whether `tip` is `commit` or continues it along first parents. */
export async function isOnLine(store: SessionStore, tip: Oid, commit: Oid): Promise<boolean> {
  if (tip === commit) return true;
  if (!(await store.isAncestor(commit, tip))) return false;
  let oldest: Commit | null = null;
  for await (const found of store.firstParents(tip, [commit])) oldest = found.commit;
  return oldest?.parents[0] === commit;
}

/** The maximum number of lines to check; each takes a git process or two. */
const maxLines = 64;

/** Tells whether one of the tips is on the commit's line. Also returns false when there are too many tips to check. */
export async function isOnAnyLine(store: SessionStore, tips: readonly Oid[], commit: Oid): Promise<boolean> {
  if (tips.includes(commit)) return true;
  for (const tip of tips.slice(0, maxLines)) if (await isOnLine(store, tip, commit)) return true;
  return false;
}

/** Finds a line's newest commit that one of `lines` reaches too, along first parents or not; null when there is none. */
export async function findFork(store: SessionStore, tip: Oid, lines: readonly Oid[]): Promise<Oid | null> {
  let oldest: Commit | null = null;
  for await (const found of store.firstParents(tip, [...lines])) oldest = found.commit;
  return oldest === null ? tip : (oldest.parents[0] ?? null);
}
