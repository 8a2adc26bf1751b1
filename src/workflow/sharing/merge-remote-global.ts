/** `teddy/global` when two repositories have changed it: one commit on top of both, with what either has added and removed. */
import { TeddyError } from '../../errors.ts';
import type { Store, TreeFile } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { parseGlobalFile } from '../../session/global-files.ts';
import { mergeGlobalFile } from '../../session/merge-global.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { editTree, type TreeEdit } from '../line/edit-tree.ts';
import { isTrusted, trustTexts } from '../line/foreign-texts.ts';
import { toText } from '../line/read.ts';

export interface MergedGlobal {
  commit: Oid;
  /** What a person should look at: one sentence each. */
  notes: string[];
}

interface Merge {
  project: Project;
  edits: TreeEdit[];
  notes: string[];
  /** Here, for the notes. */
  local: Oid;
  /** No name of these is free. */
  taken: Set<string>;
}

type Sides = Record<'base' | 'mine' | 'theirs', TreeFile | undefined>;

/**
 * A commit with both as parents, the remote's first; no ref moves. Of a file that only a person could bring together the
 * remote's stays, and ours beside it under another name.
 */
export async function mergeRemoteGlobal(project: Project, local: Oid, remote: Oid): Promise<MergedGlobal> {
  const { store } = project.repository;
  const base = await store.mergeBase(local, [remote]);
  const files = await readSides(store, { base, mine: local, theirs: remote });
  const merge: Merge = { project, edits: [], notes: [], local, taken: new Set(files.keys()) };
  for (const [path, sides] of files) await mergeFile(merge, path, sides);
  const batch = store.batch();
  const tree = await editTree(store, batch, (await store.readCommit(remote)).tree, merge.edits);
  const message = 'global: bring together what two repositories have changed\n';
  const commit = await batch.commit({ tree, parents: [remote, local], ...(await store.ident()), message });
  await batch.flush();
  return { commit, notes: merge.notes };
}

async function readSides(store: Store, tips: Record<keyof Sides, Oid | null>): Promise<Map<RepoPath, Sides>> {
  const read = async (tip: Oid | null) => (tip === null ? [] : store.listTree(tip));
  const [base, mine, theirs] = await Promise.all([tips.base, tips.mine, tips.theirs].map(read));
  const byPath = (files: TreeFile[] = []) => new Map(files.map((file) => [file.path, file]));
  const sides = { base: byPath(base), mine: byPath(mine), theirs: byPath(theirs) };
  const paths = new Set([...sides.base.keys(), ...sides.mine.keys(), ...sides.theirs.keys()]);
  return new Map(
    [...paths].map((path) => [
      path,
      { base: sides.base.get(path), mine: sides.mine.get(path), theirs: sides.theirs.get(path) },
    ]),
  );
}

async function mergeFile(merge: Merge, path: RepoPath, { base, mine, theirs }: Sides): Promise<void> {
  if (isSame(mine, base) || isSame(mine, theirs)) return;
  if (isSame(theirs, base)) return put(merge, path, mine);
  // Changed by one and removed by the other: what somebody worked on stays.
  if (mine === undefined) return;
  if (theirs === undefined) return put(merge, path, mine);
  const text = await mergeTexts(merge, path, { base, mine, theirs });
  if (text === null) return keepBeside(merge, path, mine);
  await putText(merge, path, text);
}

function isSame(a: TreeFile | undefined, b: TreeFile | undefined): boolean {
  return a?.oid === b?.oid && a?.mode === b?.mode;
}

/** Null: nobody but a person can, or one of them is no list of memos. */
async function mergeTexts(
  { project }: Merge,
  path: RepoPath,
  { base, mine, theirs }: { base: TreeFile | undefined; mine: TreeFile; theirs: TreeFile },
): Promise<string | null> {
  const { store } = project.repository;
  const read = async (file: TreeFile | undefined) => (file === undefined ? '' : toText(await store.readBlob(file.oid)));
  const texts = { base: await read(base), mine: await read(mine), theirs: await read(theirs) };
  try {
    const text = mergeGlobalFile(path, texts);
    if (text !== null && path === 'global.context') await keepTrust(project, texts, text);
    return text;
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'DAMAGED_SESSION') return null;
    throw error;
  }
}

/** What is made of two lists that are trusted brings in nothing new. */
async function keepTrust(project: Project, texts: { mine: string; theirs: string }, merged: string): Promise<void> {
  const known = await Promise.all(
    [texts.mine, texts.theirs].map((text) => isTrusted(project, { kind: 'context', text })),
  );
  if (known.every(Boolean)) await trustTexts(project, [{ text: merged }]);
}

/** An agent stays one that can be chosen; anything else is found in the commit that was ours. */
function keepBeside(merge: Merge, path: RepoPath, mine: TreeFile): void {
  const agent = toAgent(path);
  if (agent === null) {
    merge.notes.push(
      `${path} of teddy/global was changed here and there, and cannot be brought together: the remote's stays; yours: git show ${merge.local.slice(0, 12)}:${path}`,
    );
    return;
  }
  let number = 2;
  while (merge.taken.has(`agents/${agent}-${number}.md`)) number += 1;
  const beside = `agents/${agent}-${number}.md` as RepoPath;
  merge.taken.add(beside);
  put(merge, beside, mine);
  merge.notes.push(`${path} of teddy/global was changed here and there: the remote's stays, yours is ${beside}.`);
}

function toAgent(path: string): string | null {
  try {
    return parseGlobalFile(path).agent;
  } catch {
    // A file of the user's own, which is no agent.
    return null;
  }
}

function put({ edits }: Merge, path: RepoPath, file: TreeFile | undefined): void {
  edits.push({ path, entry: file === undefined ? null : { mode: file.mode, oid: file.oid } });
}

async function putText({ project, edits }: Merge, path: RepoPath, text: string): Promise<void> {
  const batch = project.repository.store.batch();
  const oid = await batch.blob(text);
  await batch.flush();
  edits.push({ path, entry: { mode: '100644', oid } });
}
