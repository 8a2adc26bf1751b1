/** A line whose commits differ from the published ones, with all of git's own ids consistent. */
import type { TreeEntry } from '../../src/ports/git.ts';
import type { Project } from '../../src/ports/project.ts';
import { decodeEntry, type Entry } from '../../src/session/entries/entry.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import { editTree } from '../../src/session/paths/edit-tree.ts';

interface RecordedStep {
  oid: Oid;
  entry: Entry | null;
}

/** The commits from the session's start to `tip`, oldest first. */
export async function listSteps({ repository: { store } }: Project, tip: Oid): Promise<RecordedStep[]> {
  const steps: RecordedStep[] = [];
  for await (const { oid, commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    steps.unshift({ oid, entry });
    if (entry?.kind === 'start') break;
  }
  return steps;
}

export interface Tampering {
  path: RepoPath;
  /** Null removes the file. */
  bytes: Uint8Array | null;
  /** Changes the commit's own message. */
  message?: (message: string) => string;
  mode?: TreeEntry['mode'];
  /** The message of an empty commit, which is inserted before it. */
  before?: string;
}

/** The tip of a line like the one up to `tip`, where `at` and every commit after it have other bytes at some paths. */
export async function tamper(project: Project, tip: Oid, at: Oid, changes: Tampering[]): Promise<Oid> {
  const { store } = project.repository;
  const steps = await listSteps(project, tip);
  const batch = store.batch();
  const edits = [];
  for (const { path, bytes, mode = '100644' as const } of changes)
    edits.push({ path, entry: bytes === null ? null : { mode, oid: await batch.blob(bytes) } });
  let parent: Oid | null = null;
  for (const { oid } of steps.slice(steps.findIndex((step) => step.oid === at))) {
    const commit = await store.readCommit(oid);
    const tree = await editTree(store, batch, commit.tree, edits);
    let parents: Oid[] = parent === null ? commit.parents : [parent];
    const inserted = oid === at ? changes.find(({ before }) => before)?.before : undefined;
    if (inserted !== undefined && parents[0] !== undefined) {
      const below = await store.readCommit(parents[0]);
      parents = [await batch.commit({ ...below, parents, message: inserted })];
    }
    const rewrite = oid === at ? changes.find(({ message }) => message)?.message : undefined;
    parent = await batch.commit({ ...commit, tree, parents, message: rewrite?.(commit.message) ?? commit.message });
  }
  await batch.flush();
  if (parent === null) throw new Error(`${at} is not on the line.`);
  return parent;
}

/** The same bytes with one of them changed, still valid text. */
export function flip(bytes: Uint8Array, at: number): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  flipped[at] = (flipped[at] ?? 0) ^ 1;
  return flipped;
}
