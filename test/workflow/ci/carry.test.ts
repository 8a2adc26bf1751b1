/** Sessions that a merge on the forge brought to a branch: kept on the remote, and noted. */
import { beforeEach, describe, expect, test } from 'vitest';
import { archiveRef, landingBranch, mainLineRef, type Oid, type RefName, type SessionId } from '../../../src/names.ts';
import { carrySessions } from '../../../src/workflow/ci/carry.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { addNoteLines } from '../../../src/workflow/line/notes.ts';
import { given } from '../../support/given.ts';
import { copyObjects, memoryRemote, type MemoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, edit, line, session as id } from '../../support/turns.ts';

let project: MemoryProject;
let origin: MemoryRemote;
let tip: Oid;
let base: Oid;
const session = id as SessionId;
const branch = mainLineRef(session);
const archive = archiveRef(branch);
const notes = 'refs/notes/teddy' as RefName;
const { signal } = new AbortController();

beforeEach(async () => {
  const actions = [create('a.txt'), edit('README.md', 'one', 'ONE')];
  project = await given.executedTurns({ One: actions }, { 'README.md': 'one\n' });
  tip = await project.tipOf(line);
  await project.switchTo('main');
  base = await project.commit('Meanwhile\n', { 'other.txt': 'other\n' });
  origin = await memoryRemote();
  project.remotes.set('origin', origin);
});

async function put(ref: string, oid: Oid | null): Promise<void> {
  copyObjects(project.disk, origin.disk);
  const old = await origin.store.readRef(ref as RefName);
  await origin.store.updateRefs([{ ref: ref as RefName, old, new: oid }], 'test');
}

/** Makes the commit that a forge makes of a branch: the result of merging it, without its history. */
async function squash(theirs: Oid, message: string, extra: { parents?: Oid[] } = {}): Promise<Oid> {
  const { store } = project.repository;
  const from = (await store.mergeBase(theirs, [base])) as Oid;
  const trees = await Promise.all([from, base, theirs].map(async (oid) => (await store.readCommit(oid)).tree));
  const { tree } = await store.mergeTrees(...(trees as [Oid, Oid, Oid]));
  const batch = store.batch();
  const made = await batch.commit({ tree: tree as Oid, parents: [base], ...(await store.ident()), message, ...extra });
  await batch.flush();
  return made;
}

const carry = (head: Oid) => carrySessions(project, { range: { base, head }, remote: 'origin', signal });
const refsThere = async () => new Map((await origin.store.listRefs('refs/')).map(({ ref, oid }) => [ref, oid]));

async function noteOn(commit: Oid): Promise<string> {
  const tree = (await origin.store.readRef(notes)) as Oid;
  const file = await origin.store.readFile(tree, `${commit.slice(0, 2)}/${commit.slice(2)}` as never);
  return new TextDecoder().decode(file?.bytes);
}

describe('a squash', () => {
  test('of a session whose branch the forge has deleted is archived from its pull request, and noted', async () => {
    const head = await squash(tip, 'Add it (#7)\n');
    await put('refs/pull/7/head', tip);
    const carried = await carry(head);
    expect(carried).toEqual({
      range: { base, head },
      archives: [{ session, archive, tip, isNew: true }],
      notes: [{ commit: head, from: [{ session, tip }], isNew: true }],
      lost: [],
    });
    expect([...(await refsThere()).keys()]).toEqual([notes, 'refs/pull/7/head', archive]);
    expect((await refsThere()).get(archive)).toBe(tip);
    expect(await noteOn(head)).toBe(`Teddy-Landed-From: ${session}@${tip}\n`);
    // Again, it has nothing to do.
    origin.pushed = [];
    expect((await carry(head)).notes).toMatchObject([{ isNew: false }]);
    expect(origin.pushed).toEqual([]);
    expect(await project.repository.store.listRefs('refs/notes/', 'refs/teddy/quarantine/')).toEqual([]);
  });

  test('without a number is recognized by its session’s branch, which stays', async () => {
    const head = await squash(tip, 'Add it\n');
    await put(branch, tip);
    expect(await carry(head)).toMatchObject({ archives: [{ tip, isNew: true }], notes: [{ commit: head }] });
    expect((await refsThere()).get(branch)).toBe(tip);
  });

  test('of a landing without a number is recognized by the branch that `land --pr` has made', async () => {
    await project.setRef('refs/heads/pr', base);
    const landed = (await landSession(project, { target: line, onto: 'pr' })).commit as Oid;
    const head = await squash(landed, 'Add it\n');
    await put(branch, tip);
    await put(`refs/heads/${landingBranch('20260101-another' as SessionId)}`, base);
    expect((await carry(head)).notes).toEqual([]);
    await put(`refs/heads/${landingBranch(session as SessionId)}`, landed);
    expect((await carry(head)).notes).toEqual([{ commit: head, from: [{ session, tip }], isNew: true }]);
  });

  test('of a landing that has lost its trailers is noted', async () => {
    await project.setRef('refs/heads/pr', base);
    const landed = (await landSession(project, { target: line, onto: 'pr' })).commit as Oid;
    const head = await squash(landed, 'Add it (#8)\n\nBy hand.\n');
    await put('refs/pull/8/head', landed);
    await put(branch, tip);
    expect(await carry(head)).toMatchObject({
      archives: [{ session, tip, isNew: true }],
      notes: [{ commit: head, from: [{ session, tip }] }],
      lost: [],
    });
  });

  test('that differs from the branch it names is not noted, and a session that nothing gives is reported', async () => {
    const other = await squash(tip, 'Something else (#7)\n');
    await put('refs/pull/7/head', await project.tipOf('main'));
    expect(await carry(other)).toMatchObject({ archives: [], notes: [], lost: [{ session, commit: other }] });
    await put('refs/pull/7/head', tip);
    const evil = await project.commit('Add it (#7)\n', { 'evil.txt': 'evil\n' });
    expect(await carry(evil)).toMatchObject({ archives: [], notes: [], lost: [] });
    expect(origin.pushed).toEqual([]);
  });
});

test('a merge keeps its session without a note', async () => {
  const head = await squash(tip, 'Merge\n', { parents: [base, tip] });
  expect(await carry(head)).toMatchObject({ archives: [{ session, tip, isNew: true }], notes: [], lost: [] });
  expect([...(await refsThere()).keys()]).toEqual([archive]);
});

describe('a landing', () => {
  let landed: Oid;
  beforeEach(async () => {
    landed = (await landSession(project, { target: line, onto: 'main' })).commit as Oid;
  });

  test('keeps its session with the later turns, moves an older archive, and leaves another one alone', async () => {
    await put(branch, tip);
    const before = (await project.repository.store.readCommit(tip)).parents[0] as Oid;
    await put(archive, before);
    expect(await carry(landed)).toMatchObject({ archives: [{ archive, tip, isNew: true }], notes: [] });
    expect((await carry(landed)).archives).toMatchObject([{ archive, tip, isNew: false }]);
    await put(archive, base);
    expect(await carry(landed)).toMatchObject({ archives: [], lost: [{ reason: `${archive} has other commits` }] });
    expect((await refsThere()).get(archive)).toBe(base);
  });

  test('that names another session’s commit keeps nothing', async () => {
    const forged = await squash(tip, `Land\n\nTeddy-Landed-From: 20260101-other@${base}\n`);
    expect(await carry(forged)).toMatchObject({ archives: [], lost: [{ session: '20260101-other' }] });
    expect(origin.pushed).toEqual([]);
  });
});

test('somebody’s notes that arrive first stay, line by line; after ten tries, it gives up', async () => {
  const head = await squash(tip, 'Add it (#7)\n');
  await put('refs/pull/7/head', tip);
  await put(archive, tip);
  const mine = `Teddy-Landed-From: ${session}@${tip}`;
  const theirs = async (text: string) => {
    const own = 'refs/notes/theirs' as RefName;
    await addNoteLines(project, own, head, [text]);
    await put(notes, await project.repository.store.resolve(own));
  };
  origin.meanwhile = () => theirs('Zeta: 1');
  expect(await carry(head)).toMatchObject({ notes: [{ isNew: true }] });
  expect(await noteOn(head)).toBe(`${mine}\nZeta: 1\n`);

  await put(notes, null);
  let count = 0;
  const always = async () => {
    origin.meanwhile = always;
    await theirs(`Zeta: ${(count += 1)}`);
  };
  origin.meanwhile = always;
  await expect(carry(head)).rejects.toMatchObject({ code: 'REMOTE_CHANGED' });
  expect(count).toBe(10);
});
