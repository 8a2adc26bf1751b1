/** Notes that name the sessions of a squash: which of them are true, and what a list makes of them. */
import { beforeEach, describe, expect, test } from 'vitest';
import { mainLineRef, notesCopyRef, notesRef, type Oid, type RefName, type SessionId } from '../../../src/names.ts';
import { listLines } from '../../../src/session/lines/lines.ts';
import { mergeCommits } from '../../../src/session/lines/landing.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { findNotedLanding } from '../../../src/workflow/line/noted-landings.ts';
import { hasLandedAsItStands } from '../../../src/workflow/line/find-open.ts';
import { addNoteLines } from '../../../src/workflow/line/notes.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { given } from '../../support/given.ts';
import { memoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, edit, session as id, start, turn } from '../../support/turns.ts';

const one = id as SessionId;
const two = '20260124-two' as SessionId;
const missing = '1'.repeat(40) as Oid;

let project: MemoryProject;
let base: Oid;
let tips: Record<SessionId, Oid>;

/** Two sessions that change one file each, and a branch that has moved meanwhile. */
beforeEach(async () => {
  project = await given.executedTurns({ One: [edit('a.txt', 'a', 'A')] }, { 'a.txt': 'a\n', 'b.txt': 'b\n' });
  await project.switchTo('main');
  await start(project, 'two');
  await turn(project, 'Two', edit('b.txt', 'b', 'B'));
  await project.switchTo('main');
  base = await project.commit('Meanwhile\n', { 'other.txt': 'other\n' });
  tips = { [one]: await project.tipOf(`teddy/${one}`), [two]: await project.tipOf(`teddy/${two}`) };
});

const line = (session: SessionId, tip = tips[session]) => `Teddy-Landed-From: ${session}@${tip}`;

async function commit(tree: Oid, message: string, parents: Oid[]): Promise<Oid> {
  const { store } = project.repository;
  const batch = store.batch();
  const made = await batch.commit({ tree, parents, ...(await store.ident()), message });
  await batch.flush();
  return made;
}

/** Makes main the squash of a branch on which these sessions landed. */
async function squash(sessions: SessionId[], message = 'Add it (#7)\n', parents = [base]): Promise<Oid> {
  await project.setRef('refs/heads/pr', base);
  for (const session of sessions) await landSession(project, { target: `teddy/${session}`, onto: 'pr' });
  const { tree } = await project.repository.store.readCommit(await project.tipOf('pr'));
  const made = await commit(tree, message, parents);
  await project.setRef('refs/heads/main', made);
  return made;
}

async function drop(ref: RefName): Promise<void> {
  const { store } = project.repository;
  await store.updateRefs([{ ref, old: await store.readRef(ref), new: null }], 'test');
}

/** Replaces the note on a commit. Returns what it proves. */
async function read(on: Oid, lines: string[], ref: RefName = notesRef) {
  await drop(ref);
  await addNoteLines(project, ref, on, lines);
  const notes = (await project.repository.store.listRefs('refs/notes/')).map(({ oid }) => oid);
  return findNotedLanding(project.repository, notes, on);
}

const from = (...sessions: SessionId[]) => sessions.map((session) => ({ session, tip: tips[session] }));

describe('a note', () => {
  test('is true of a squash of one session or of several, among other lines, and again', async () => {
    const single = await squash([one]);
    expect(await read(single, [line(one)])).toEqual(from(one));
    expect(await read(single, [line(one)])).toEqual(from(one));
    const false_ = [line(two), line(one, missing), line('20260101-none' as SessionId, base), 'Teddy-Landed-From: x'];
    expect(await read(single, [line(one), ...false_])).toEqual(from(one));
    const both = await squash([one, two]);
    expect(await read(both, [line(one), line(two)])).toEqual(from(one, two));
  });

  test('is true of a squash that has the session’s files as well', async () => {
    const { store } = project.repository;
    const { tree } = await store.readCommit(tips[one] as Oid);
    const start = (await store.mergeBase(tips[one] as Oid, [base])) as Oid;
    expect(await read(await commit(tree, 'Add it\n', [start]), [line(one)])).toEqual(from(one));
  });

  test.each<[what: string, lines: () => string[]]>([
    ['other content', () => [line(two)]],
    ['less than the commit has', () => [line(one, base), line(two)]],
    ['no such commit', () => [line(one, missing)]],
    ['another session’s commit', () => [line(two, tips[one])]],
    ['an unknown session', () => [line('20260101-none' as SessionId, tips[one])]],
    ['a commit without a session', () => [line(one, base)]],
    [
      'a broken line',
      () => [`${line(one)} `, ` ${line(one)}`, line('../x' as SessionId), 'Teddy-Landed-From: \u001b[2J'],
    ],
    ['a megabyte', () => [line(one), 'x'.repeat(1024 * 1024)]],
  ])('with %s proves nothing', async (_, lines) => {
    expect(await read(await squash([one]), lines())).toEqual([]);
  });

  test('that leaves a choice, or names more than it needs, proves nothing', async () => {
    const { store } = project.repository;
    await start(project, 'copy');
    await turn(project, 'Copy', edit('a.txt', 'a', 'A'));
    await project.switchTo('main');
    const copy = '20260124-copy' as SessionId;
    tips[copy] = await project.tipOf(`teddy/${copy}`);
    expect(await read(await squash([one]), [line(one), line(copy)])).toEqual([]);
    expect(await read(await squash([one, two]), [line(one), line(two), line(copy)])).toEqual([]);
    expect(await store.listRefs('refs/notes/')).toHaveLength(1);
  });

  test('says nothing about a landing, an entry, a merge, a root, or a commit that its session contains', async () => {
    const landing = await squash([one], `Land\n\n${line(two)}\n`);
    expect(await read(landing, [line(one)])).toEqual([]);
    expect(await read(tips[one] as Oid, [line(one)])).toEqual([]);
    expect(await read(await squash([one], 'Merge\n', [base, tips[two] as Oid]), [line(one)])).toEqual([]);
    expect(await read(await squash([one], 'Root\n', []), [line(one)])).toEqual([]);
    const plain = await squash([one]);
    const { store } = project.repository;
    const merged = await mergeCommits(store, base, tips[one] as Oid);
    const after = await commit(merged as Oid, 'More\n', [tips[one] as Oid, plain]);
    expect(await read(plain, [line(one, after)])).toEqual([]);
  });

  test('that arrives before its session is true once the session is here', async () => {
    const { store } = project.repository;
    const head = await squash([one]);
    const { resolve } = store;
    store.resolve = async (name) => (name === tips[one] ? null : resolve(name));
    expect(await read(head, [line(one)])).toEqual([]);
    store.resolve = resolve;
    expect(await read(head, [line(one)])).toEqual(from(one));
  });

  test('in notes that are no notes, or whose objects are missing, proves nothing', async () => {
    const head = await squash([one]);
    const batch = project.repository.store.batch();
    const blob = await batch.blob('no commit\n');
    await batch.flush();
    expect(await findNotedLanding(project.repository, [blob, missing], head)).toEqual([]);
  });
});

describe('in a list', () => {
  const states = async () => {
    const sessions = await listSessions(project);
    return Object.fromEntries(sessions.map(({ session, state, byNote }) => [session, [state, byNote]]));
  };

  test('a session whose squash is on main has landed, by its note or a copy of a remote’s notes', async () => {
    const head = await squash([one]);
    project.remotes.set('origin', await memoryRemote());
    expect(await states()).toEqual({ [one]: ['closed', null], [two]: ['closed', null] });
    for (const ref of [notesRef, notesCopyRef('origin')]) {
      await read(head, [line(one), line(two)], ref);
      expect(await states()).toEqual({ [one]: ['landed', head], [two]: ['closed', null] });
      // `status`, `archive` and `delete` ask about one line.
      const lines = await listLines(project);
      const landed = await Promise.all(lines.map((one) => hasLandedAsItStands(project, one)));
      expect(lines.filter((_, at) => landed[at]).map(({ session }) => session)).toEqual([one]);
      await drop(ref);
    }
  });

  test('a squash on another branch, and other people’s notes, change nothing; a later turn is open again', async () => {
    const head = await squash([one]);
    await read(head, [line(one)], 'refs/notes/commits' as RefName);
    expect((await states())[one]).toEqual(['closed', null]);
    await drop('refs/notes/commits' as RefName);
    await read(head, [line(one)]);
    await project.setRef('refs/heads/main', base);
    expect((await states())[one]).toEqual(['closed', null]);
    await project.setRef('refs/heads/main', head);
    expect((await states())[one]).toEqual(['landed', head]);
    await project.switchTo(`teddy/${one}`);
    await turn(project, 'More', create('more.txt'));
    expect((await states())[one]).toEqual(['closed', null]);
  });

  test('what a trailer says needs no note', async () => {
    await project.switchTo('main');
    const { commit: landed } = await landSession(project, { target: mainLineRef(one).slice(11), onto: 'main' });
    await read(landed as Oid, [line(one)]);
    expect((await states())[one]).toEqual(['landed', null]);
  });
});
