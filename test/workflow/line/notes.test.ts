import { expect, test } from 'vitest';
import type { Oid, RefName, RepoPath } from '../../../src/names.ts';
import { editTree } from '../../../src/session/paths/edit-tree.ts';
import { addNote, hasNote } from '../../../src/workflow/line/notes.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';

const ref = 'refs/notes/ai' as RefName;
const commit = 'ab12'.padEnd(40, '3') as Oid;
const [split, deep] = [`ab/${commit.slice(2)}`, `ab/12/${commit.slice(4)}`];
const other = (head: string) => head.padEnd(40, '0');

/** Other people's notes, by their places in the tree. */
async function keep(project: MemoryProject, places: readonly string[]): Promise<Oid> {
  const { store } = project.repository;
  const batch = store.batch();
  const edits = await Promise.all(
    places.map(async (path) => ({
      path: path as RepoPath,
      entry: { mode: '100644' as const, oid: await batch.blob(`${path}\n`) },
    })),
  );
  const tree = await editTree(store, batch, null, edits);
  const oid = await batch.commit({ tree, parents: [], ...(await store.ident()), message: 'Notes\n' });
  await batch.flush();
  await project.setRef(ref, oid);
  return oid;
}

async function places({ repository: { store } }: MemoryProject): Promise<string[]> {
  return (await store.listTree((await store.resolve(ref)) as Oid)).map(({ path }) => path);
}

test.each<[what: string, before: string[], place: string]>([
  ['a tree without directories', [other('cd'), other('ab')], commit],
  ['a tree with directories', [`cd/${other('')}`], split],
  ['a directory with notes', [`ab/${other('').slice(2)}`], split],
  ['directories in directories', [`ab/cd/${other('').slice(4)}`], deep],
  ['a tree with unrelated entries only', ['README'], split],
])('a note is added where the others are: %s', async (_, before, place) => {
  const project = await memoryProject();
  const parent = await keep(project, before);
  expect(await addNote(project, ref, commit, 'mine\n')).toBe(true);
  expect(await places(project)).toEqual([...before, place].toSorted());
  const tip = (await project.repository.store.resolve(ref)) as Oid;
  expect((await project.repository.store.readCommit(tip)).parents).toEqual([parent]);
  expect(await project.readAt(tip, place)).toBe('mine\n');
  expect(await hasNote(project.repository.store, ref, commit)).toBe(true);
});

test('a repository’s first note goes into a directory, as with git-ai', async () => {
  const project = await memoryProject();
  expect(await hasNote(project.repository.store, ref, commit)).toBe(false);
  expect(await addNote(project, ref, commit, 'mine\n')).toBe(true);
  expect(await places(project)).toEqual([split]);
});

test.each([commit, split, deep])('a note at %s is not replaced', async (place) => {
  const project = await memoryProject();
  const tip = await keep(project, [place, `README/${place}`]);
  expect(await addNote(project, ref, commit, 'mine\n')).toBe(false);
  expect(await project.repository.store.resolve(ref)).toBe(tip);
});

test('notes that somebody adds meanwhile stay', async () => {
  const project = await memoryProject();
  const racing = withRace(project, () => keep(project, [other('cd')]));
  expect(await addNote(racing, ref, commit, 'mine\n')).toBe(true);
  expect(await places(project)).toEqual([commit, other('cd')]);
  // Even if it is the note on this commit.
  const another = await memoryProject();
  const raced = withRace(another, () => keep(another, [split]));
  expect(await addNote(raced, ref, commit, 'mine\n')).toBe(false);
  expect(await another.readAt((await another.repository.store.resolve(ref)) as Oid, split)).toBe(`${split}\n`);
});
