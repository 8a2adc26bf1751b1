/** Landing for a pull request: which branch it takes, where it starts, and what it pushes. */
import { beforeEach, expect, test } from 'vitest';
import type { Oid, RefName } from '../../../src/names.ts';
import { findWayToOpen, landForReview, type ReviewRequest } from '../../../src/workflow/landing/land-for-review.ts';

import type { MemoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, line, session, start, turn } from '../../support/turns.ts';
import { expectNoQuarantine, makeClone, makeRemote, makeSyncedClone, request } from '../sharing/clones.ts';

const branch = `teddy-land/${session}`;
let origin: MemoryRemote;
let project: MemoryProject;

beforeEach(async () => {
  origin = await makeRemote();
  project = await makeClone(origin, 'a');
  await start(project);
  await turn(project, 'Make a.txt', create('a.txt'));
});

const land = (more: Partial<ReviewRequest> = {}) => landForReview(project, { ...request, ...more });
const there = async (name: string) => (await origin.store.listRefs(`refs/heads/${name}`))[0]?.oid ?? null;

/** The remote moves a branch: to `tip` and a commit on top of it, or away. */
async function moveThere(name: string, tip: Oid | null, file?: string, text = `${file}\n`): Promise<Oid | null> {
  const ref = `refs/heads/${name}` as RefName;
  let moved = tip;
  if (file !== undefined && tip !== null) {
    const batch = origin.store.batch();
    const blob = { mode: '100644' as const, name: file, oid: await batch.blob(text) };
    const rest = (await origin.store.readTree((await origin.store.readCommit(tip)).tree)).filter(
      (entry) => entry.name !== file,
    );
    const ident = await project.repository.store.ident();
    const tree = await batch.tree([...rest, blob].toSorted((a, b) => (a.name < b.name ? -1 : 1)));
    moved = await batch.commit({ tree, parents: [tip], ...ident, message: `${file}\n` });
    await batch.flush();
  }
  await origin.store.updateRefs([{ ref, old: await there(name), new: moved }], 'somebody else');
  return moved;
}

test('the code lands on a branch from the remote’s base branch, and is pushed with the session', async () => {
  const main = await project.tipOf('main');
  const base = await moveThere('main', main, 'other.txt');
  const { landed, ...found } = await land();
  expect(found).toMatchObject({ session, branch, base: 'main', remote: { name: 'origin' } });
  const tip = await project.tipOf(branch);
  expect(landed).toMatchObject({ commit: tip, before: null, onto: `refs/heads/${branch}`, root: null });
  expect((await project.repository.store.readCommit(tip)).parents).toEqual([base]);
  expect(landed?.changes.map(({ path }) => path)).toEqual(['a.txt']);
  expect([await there(branch), await there(line), await there('main')]).toEqual([tip, await project.tipOf(line), base]);
  expect([await project.tipOf('main'), (await project.repository.workspace.head()).ref]).toEqual([
    main,
    `refs/heads/${line}`,
  ]);
  await expectNoQuarantine(project);
});

test('later turns land on the same branch while the pull request is open, with what others added to it', async () => {
  await land();
  const reviewed = await moveThere(branch, await there(branch), 'review.txt');
  await turn(project, 'Make b.txt', create('b.txt'));
  const { landed } = await land();
  expect((await project.repository.store.readCommit(await project.tipOf(branch))).parents).toEqual([reviewed]);
  expect(landed?.changes.map(({ path }) => path)).toEqual(['b.txt']);
  expect(await there(branch)).toBe(await project.tipOf(branch));
});

test('after a merge the branch goes forward to it; after a squash, or if it is another’s, the name gets a number', async () => {
  await land();
  await moveThere('main', await there(branch), 'merged.txt');
  await moveThere(branch, null);
  await turn(project, 'Make b.txt', create('b.txt'));
  await land();
  expect((await project.repository.store.readCommit(await project.tipOf(branch))).parents).toEqual([
    await there('main'),
  ]);
  // The forge squashes the second pull request, and deletes its branch.
  await moveThere('main', await there('main'), 'b.txt');
  await moveThere(branch, null);
  await moveThere(`${branch}-2`, await there('main'), 'foreign.txt');
  await turn(project, 'Make c.txt', create('c.txt'));
  expect((await land()).branch).toBe(`${branch}-3`);
  expect(await land({ branch: 'mine' })).toMatchObject({ branch: 'mine' });
});

test('a push that failed is made up for, and nothing lands twice', async () => {
  const warnings: string[] = [];
  project.notices.warn = (text) => void warnings.push(text);
  origin.refuses = (refs) => refs.filter((ref) => ref.includes('teddy-land/'));
  await expect(land()).rejects.toMatchObject({ code: 'REMOTE_REFUSED' });
  expect(warnings).toEqual([`The code is on ${branch} here, and has not been pushed. The same command tries again.`]);
  const tip = await project.tipOf(branch);
  origin.refuses = () => [];
  expect((await land()).landed).toBeNull();
  expect([await project.tipOf(branch), await there(branch)]).toEqual([tip, tip]);
  expect((await land({ isDryRun: true })).landed).toBeNull();
});

test('another clone goes on with the open branch, and after a squash no clone brings the old one back', async () => {
  await land();
  const tip = await there(branch);
  const clone = await makeSyncedClone(origin, 'b');
  const again = () => landForReview(clone, request);
  expect(await again()).toMatchObject({ branch, landed: null });
  await turn(project, 'Make b.txt', create('b.txt'));
  await land();
  expect((await project.repository.store.readCommit(await project.tipOf(branch))).parents).toEqual([tip]);
  const batch = origin.store.batch();
  const head = await origin.store.readCommit((await there(branch)) as Oid);
  const parents = [(await there('main')) as Oid];
  const squash = await batch.commit({
    tree: head.tree,
    parents,
    ...(await project.repository.store.ident()),
    message: 'S\n',
  });
  await batch.flush();
  await moveThere('main', squash);
  await moveThere(branch, null);
  await expect(land()).rejects.toMatchObject({
    code: 'NOTHING_TO_LAND',
    message: expect.stringContaining('origin/main'),
  });
  expect(await there(branch)).toBeNull();
});

test('a branch with other code is not taken by name, nor the one that the pull request changes', async () => {
  await moveThere('theirs', await project.tipOf('main'), 'foreign.txt');
  for (const name of ['theirs', 'main'])
    await expect(land({ branch: name })).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('--pr'),
    });
});

test('a session that the remote refuses does not stop the code, and is reported', async () => {
  origin.refuses = (refs) => refs.filter((ref) => !ref.includes('teddy-land/'));
  const { refusal, shared } = await land();
  expect([refusal?.code, shared, await there(branch)]).toEqual(['REMOTE_REFUSED', null, await project.tipOf(branch)]);
});

test('the way out of a conflict begins with the branch that is not there yet', async () => {
  await moveThere('main', await project.tipOf('main'), 'a.txt', 'other\n');
  await expect(land()).rejects.toMatchObject({
    code: 'LAND_CONFLICT',
    message: expect.stringContaining('and origin/main changed the same lines'),
    hint: expect.stringContaining(`git switch -c ${branch} ${(await there('main'))?.slice(0, 12)} && git cherry-pick`),
  });
});

test('a dry run moves no branch here or there', async () => {
  const before = [await project.repository.store.listRefs('refs/'), await origin.store.listRefs('refs/')];
  expect((await land({ isDryRun: true })).landed).toMatchObject({ commit: null, obstacle: null });
  expect([await project.repository.store.listRefs('refs/'), await origin.store.listRefs('refs/')]).toEqual(before);
});

test('a base branch that the remote does not have, and a name that git refuses, are refused', async () => {
  await expect(land({ onto: 'release' })).rejects.toMatchObject({
    code: 'UNKNOWN_BRANCH',
    hint: '`git ls-remote --heads origin` lists its branches; name one with --onto.',
  });
  await expect(land({ branch: 'a..b' })).rejects.toMatchObject({ code: 'USAGE' });
  await expect(land({ branch: 'teddy/20260124-other' })).rejects.toMatchObject({ code: 'USAGE' });
});

test.each([
  ['git@github.com:ada/notes.git', 'gh', 'https://github.com/ada/notes/compare/main...teddy-land/a%23b?expand=1'],
  [
    'https://x:secret@github.com/ada/notes',
    'gh',
    'https://github.com/ada/notes/compare/main...teddy-land/a%23b?expand=1',
  ],
  [
    'ssh://git@gitlab.example.org:2222/team/notes.git',
    'glab',
    'https://gitlab.example.org/team/notes/-/merge_requests/new?merge_request%5Bsource_branch%5D=teddy-land%2Fa%23b&merge_request%5Btarget_branch%5D=main',
  ],
  ['/srv/notes.git', undefined, undefined],
  ['https://git.example.org/notes', undefined, undefined],
])('the way to open it on %s', (url, program, address) => {
  const way = findWayToOpen({ url, base: 'main', branch: 'teddy-land/a#b', title: "It's done", session });
  expect([way?.program, way?.address]).toEqual([program, address]);
  if (program === 'gh')
    expect(way?.command).toBe(
      `teddy review ${session} | gh pr create --base main --head 'teddy-land/a#b' --title 'It'\\''s done' --body-file -`,
    );
});
