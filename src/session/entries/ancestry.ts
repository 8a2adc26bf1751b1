/** How the commits of a line follow each other: along first parents alone. What a merge has brought in is no part of it. */
import type { Commit, SessionStore } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';

/** Whether `tip` is `commit`, or goes on from it without leaving out anything that the line up to it holds. */
export async function isOnLine(store: SessionStore, tip: Oid, commit: Oid): Promise<boolean> {
  if (tip === commit) return true;
  if (!(await store.isAncestor(commit, tip))) return false;
  let oldest: Commit | null = null;
  for await (const found of store.firstParents(tip, [commit])) oldest = found.commit;
  return oldest?.parents[0] === commit;
}

/** Each line that is looked at takes a git process or two. */
const maxLines = 64;

/** False also where it is too much to find out. */
export async function isOnAnyLine(store: SessionStore, tips: readonly Oid[], commit: Oid): Promise<boolean> {
  if (tips.includes(commit)) return true;
  for (const tip of tips.slice(0, maxLines)) if (await isOnLine(store, tip, commit)) return true;
  return false;
}

/** The newest commit of a line that one of `lines` holds as well, as part of its own line or not; null: there is none. */
export async function findFork(store: SessionStore, tip: Oid, lines: readonly Oid[]): Promise<Oid | null> {
  let oldest: Commit | null = null;
  for await (const found of store.firstParents(tip, [...lines])) oldest = found.commit;
  return oldest === null ? tip : (oldest.parents[0] ?? null);
}
