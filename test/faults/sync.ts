/**
 * Clones that work on the same sessions simultaneously, with any storage: random steps, then syncs until nothing
 * changes.
 */
import type { Project } from '../../src/ports/project.ts';
import { decodeEntry } from '../../src/session/entries/entry.ts';
import {
  archiveRef,
  conversationBranchRef,
  parseLineRef,
  toTurnName,
  type Oid,
  type RefName,
  type RepoPath,
} from '../../src/names.ts';
import { append as appendTo } from '../../src/workflow/line/append.ts';
import { labelEdits } from '../../src/workflow/line/entry-labels.ts';
import { readTakenBranches } from '../../src/workflow/turn/branch-session.ts';
import { addMemo, listMemos, removeMemo } from '../../src/workflow/context/change-memos.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { syncSessions } from '../../src/workflow/sharing/sync-sessions.ts';

export type Random = (below: number) => number;

/** The same numbers for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

const kinds = ['append', 'append', 'append', 'branch', 'memo', 'memo', 'archive', 'session', 'sync', 'sync'] as const;

/** Makes one step in one of the clones; returns its description. */
export async function takeStep(clones: readonly Project[], random: Random): Promise<string> {
  const project = clones[random(clones.length)] as Project;
  const kind = kinds[random(kinds.length)] as (typeof kinds)[number];
  if (kind === 'sync') await sync(project);
  else if (kind === 'memo') await changeMemo(project, random);
  else if (kind === 'session') await beginSession(project);
  else {
    const lines = (await project.repository.store.listRefs('refs/heads/teddy/')).filter(({ ref }) => parseLineRef(ref));
    const line = lines[random(lines.length)];
    if (line === undefined) return 'nothing';
    if (kind === 'append') await append(project, line.ref);
    else if (kind === 'branch') await branch(project, line);
    else await archive(project, line);
  }
  return kind;
}

/** Its name is unique: two sessions of one name are never taken for one. */
export async function beginSession(project: Project): Promise<void> {
  await newSession(project, { name: `work-${project.ids.entryId()}`, switch: false });
}

/** Fails the test if something keeps a line from being shared: here nothing is in the way. */
export async function sync(project: Project): Promise<number> {
  const { lines, refusal } = await syncSessions(project, { all: true, signal: new AbortController().signal });
  const problem = refusal ?? lines.find((line) => line.problem !== null)?.problem;
  if (problem) throw problem;
  return lines.filter(({ did }) => did.length > 0).length;
}

/** Each in turn, in any order, until a whole round has changed nothing; returns the number of rounds. */
export async function settle(clones: readonly Project[], random: Random): Promise<number> {
  for (let round = 1; round <= 10; round += 1) {
    const order = clones.toSorted(() => random(3) - 1);
    let changes = 0;
    for (const project of order) changes += await sync(project);
    if (changes === 0) return round;
  }
  throw new Error('They never come to rest.');
}

async function refsOf({ repository: { store } }: Project): Promise<Record<string, Oid>> {
  const tips = await store.listRefs('refs/heads/teddy/', 'refs/teddy/archive/');
  return Object.fromEntries(tips.map(({ ref, oid }) => [ref, oid]));
}

/** The refs of all clones in the end: a branch whose commits are all in an archive stays if nobody has archived it. */
export async function sharedRefsOf({ store }: Pick<Project['repository'], 'store'>): Promise<Record<string, Oid>> {
  const tips = await store.listRefs('refs/heads/teddy/', 'refs/teddy/archive/');
  const kept = new Map(tips.map(({ ref, oid }) => [ref, oid]));
  const isStale = await Promise.all(
    tips.map(async ({ ref, oid }) => {
      const archive = parseLineRef(ref) === null ? undefined : kept.get(archiveRef(ref));
      return archive !== undefined && (await store.isAncestor(oid, archive));
    }),
  );
  return Object.fromEntries(tips.flatMap(({ ref, oid }, at) => (isStale[at] ? [] : [[ref, oid]])));
}

/** The ids of every entry on a line, in an archive or on `teddy/global`. */
export async function entryIdsOf(project: Project): Promise<Set<string>> {
  const { store } = project.repository;
  const waiting = Object.values(await refsOf(project));
  const seen = new Set<Oid>();
  const ids = new Set<string>();
  for (let oid = waiting.pop(); oid !== undefined; oid = waiting.pop()) {
    if (seen.has(oid)) continue;
    seen.add(oid);
    const commit = await store.readCommit(oid);
    const entry = decodeEntry(commit.message);
    if (entry !== null) ids.add(entry.id);
    waiting.push(...commit.parents);
  }
  return ids;
}

async function append(project: Project, ref: RefName): Promise<void> {
  const { store } = project.repository;
  const tip = (await store.resolve(ref)) as Oid;
  const id = project.ids.entryId();
  const batch = store.batch();
  const codeTree = await batch.tree([{ mode: '100644', name: 'notes.txt', oid: await batch.blob(`${id}\n`) }]);
  await batch.flush();
  const changes = await store.diffTrees(tip, codeTree, { without: '.teddy' as RepoPath });
  const paths = changes.map(({ path }) => path);
  await appendTo(project, { ref, workspace: null }, () => [
    { kind: 'snapshot', label: labelEdits(paths), code: { tree: codeTree } },
  ]);
}

async function branch(project: Project, { ref, oid }: { ref: RefName; oid: Oid }): Promise<void> {
  const session = parseLineRef(ref)?.session;
  if (session === undefined) return;
  const taken = await readTakenBranches(project, session);
  let number = 1;
  while (taken.has(toTurnName(1, number))) number += 1;
  const made = { ref: conversationBranchRef(session, toTurnName(1, number)), old: null, new: oid };
  await project.repository.store.updateRefs([made], 'branch');
}

/** Does the work of `teddy archive`: archived commits are never lost to it. */
async function archive(project: Project, { ref, oid }: { ref: RefName; oid: Oid }): Promise<void> {
  const { store } = project.repository;
  const [kept] = await store.listRefs(archiveRef(ref));
  if (kept !== undefined && !(await store.isAncestor(kept.oid, oid))) return;
  const updates = [
    ...(kept?.oid === oid ? [] : [{ ref: archiveRef(ref), old: kept?.oid ?? null, new: oid }]),
    { ref, old: oid, new: null },
  ];
  await store.updateRefs(updates, 'archive');
}

async function changeMemo(project: Project, random: Random): Promise<void> {
  const facts = await listMemos(project);
  const fact = facts[random(facts.length * 3)];
  if (fact === undefined) await addMemo(project, `Fact ${project.ids.entryId()}`);
  else await removeMemo(project, fact);
}
