import { expect } from 'vitest';
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../../../src/names.ts';
import { archiveLanded } from '../../../src/workflow/landing/archive-landed.ts';
import { findOpenLine } from '../../../src/workflow/line/find-open.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { readStatus } from '../../../src/workflow/review/read-status.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { rewindTurn } from '../../../src/workflow/turn/rewind.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { showHistory } from '../../../src/workflow/conversation/show-history.ts';
import { given } from '../../support/given.ts';
import { captureTurns } from '../../support/captured-line.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import {
  approver,
  command,
  create,
  edit,
  line,
  planOf,
  run,
  say,
  session,
  start,
  storyOf,
  turn,
} from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const archive = `refs/teddy/archive/2026-01/${session}` as RefName;

/** A session on `main` with one turn that made `one.txt`; HEAD is on its line. */
const begin = (files: Record<string, string> = { 'README.md': '# Notes\n' }) =>
  given.executedTurns({ One: [create('one.txt')] }, files);

/** Somebody else's commit on a branch, with HEAD left where it was. */
async function commitOn(project: MemoryProject, branch: string, files: Record<string, string | null>): Promise<Oid> {
  const { ref } = await project.repository.workspace.head();
  await project.switchTo(branch);
  const oid = await project.commit('Somebody else\n', files);
  await project.switchTo((ref ?? '').replace('refs/heads/', ''));
  return oid;
}

const pathsOf = async (project: MemoryProject, branch: string) =>
  (await project.repository.store.listTree(await project.tipOf(branch))).map(({ path }) => path);

test('a line lands as one commit on its base branch: its code, the turns, the trailer, and none of .teddy', async () => {
  const project = await begin();
  await turn(project, 'Two', create('two.txt'));
  await commitOn(project, 'main', { 'main.txt': 'main\n', '.teddy/config.yaml': 'model: gpt-5\n' });
  const [tip, before, head] = [
    await project.tipOf(line),
    await project.tipOf('main'),
    await project.repository.workspace.head(),
  ];
  const landed = await landSession(project, {});
  expect(landed).toMatchObject({ onto: 'refs/heads/main', before, root: null, archive });
  expect(await pathsOf(project, 'main')).toEqual(['.teddy/config.yaml', 'README.md', 'main.txt', 'one.txt', 'two.txt']);
  const commit = await project.repository.store.readCommit(await project.tipOf('main'));
  expect(commit.parents).toEqual([before]);
  expect(commit.author).toBe('Ada Example <ada@example.org> 1769248800 +0000');
  expect(commit.message).toBe(`Do it\n\n- 01 Do it\n- 02 Do it\n\nTeddy-Landed-From: ${session}@${tip}\n`);
  expect(await project.repository.store.resolve(archive)).toBe(tip);
  expect(await project.repository.workspace.head()).toEqual(head);
  expect(await storyOf(project, await project.tipOf('main'))).toEqual(["'First commit'", "'Somebody else'", "'Do it'"]);
});

test('a restored turn whose undo has landed does not land again, and the way to land it is named', async () => {
  const project = await begin();
  await landSession(project, {});
  await undoTurn(project, {});
  const undone = (await landSession(project, {})).commit;
  expect(await pathsOf(project, 'main')).toEqual(['README.md']);
  await rewindTurn(project, { turn: '01' });
  const way = `git revert --no-edit ${undone?.slice(0, 10)}\``;
  await expect(landSession(project, {})).rejects.toMatchObject({
    code: 'NOTHING_TO_LAND',
    hint: expect.stringContaining(way),
  });
  await turn(project, 'Two', create('two.txt'));
  await landSession(project, {});
  expect(await pathsOf(project, 'main')).toEqual(['README.md', 'two.txt']);
  expect(project.said.join('\n')).toContain(
    `Not all of it has landed: Landing an undo removed this session's code from main`,
  );
  project.said.length = 0;
  await turn(project, 'Three', create('three.txt'));
  await landSession(project, {});
  expect(project.said.join('\n')).not.toContain('removed code');
});

test('the message names only turns that changed code, even for a plan that had landed before it was run', async () => {
  const project = await begin();
  const ask = (title: string) => say(project, title, planOf([create(`${title}.txt`)]).replace('Do it', title));
  await ask('Never');
  expect((await run(project, { approver: approver(['no']) })).report.run_summary.status).toBe('SKIPPED');
  await ask('Later');
  expect((await landSession(project, {})).message).toMatch(/^Do it\n\nTeddy-/);
  await run(project);
  expect((await landSession(project, {})).message).toMatch(/^Later\n\nTeddy-/);
});

test('the message names an agent’s turns by their requests', async () => {
  const project = await memoryProject();
  const changing = (name: string) => ({ model: null, files: { [name]: 'text\n' } });
  const first = await captureTurns(project, 'codex', [changing('a.txt'), { model: null }]);
  expect((await landSession(project, { target: first.session })).message).toMatch(/^Message 0\n\nAssisted-by: /);
  const second = await captureTurns(project, 'codex', [{ model: null }, changing('b.txt'), changing('c.txt')]);
  expect((await landSession(project, { target: second.session })).message).toMatch(
    /^Message 2\n\n- 02 Message 1\n- 03 Message 2\n\nAssisted-by: /,
  );
});

slowTest('three landings in a row bring only new code, with commits on the branch in between', async () => {
  const project = await begin();
  await landSession(project, {});
  await expect(landSession(project, {})).rejects.toMatchObject({
    code: 'NOTHING_TO_LAND',
    message: `main already has all code from ${line}.`,
  });
  await commitOn(project, 'main', { 'README.md': '# Theirs\n' });
  await turn(project, 'Two', edit('one.txt', 'one.txt', 'two'));
  await commitOn(project, 'main', { 'main.txt': 'main\n' });
  await say(project, 'Three', planOf([create('three.txt')]));
  const second = await landSession(project, {});
  expect(second.changes).toMatchObject([{ path: 'one.txt', change: 'modified' }]);
  // Only turns since the first landing that have changed code are named.
  expect(second.message).toMatch(/^Do it\n\nTeddy-Landed-From: /);
  // Undone on the line: the branch must lose it again, even though the session began with it.
  await undoTurn(project, { turn: '02' });
  await undoTurn(project, { turn: '01' });
  const third = await landSession(project, {});
  expect(third.changes).toMatchObject([{ path: 'one.txt', change: 'deleted' }]);
  // No turn is left to name the commit after.
  expect(third.message).toMatch(/^Add login\n\n- turn 02 undo.*\n- turn 01 undo.*\n\nTeddy-Landed-From: /);
  await commitOn(project, line, { 'mine.txt': 'mine\n' });
  expect((await landSession(project, {})).message).toMatch(/^Somebody else\n\nTeddy-Landed-From: /);
  expect(await pathsOf(project, 'main')).toEqual(['README.md', 'main.txt', 'mine.txt']);
  expect(await project.readAt(await project.tipOf('main'), 'README.md')).toBe('# Theirs\n');
  expect(await project.repository.store.resolve(archive)).toBe(await project.tipOf(line));
});

slowTest(
  'code that reached the branch in other ways counts too: by a merge, or a squash without a trailer',
  async () => {
    const project = await begin();
    const { store } = project.repository;
    // A forge squashes like this: the full tree, with `.teddy/`, and no mention of its origin.
    const squashed = await project.tipOf(line);
    const batch = store.batch();
    const { tree } = await store.readCommit(squashed);
    const ident = await store.ident();
    const main = await project.tipOf('main');
    const squash = await batch.commit({ tree, parents: [main], ...ident, message: 'Squashed (#1)\n' });
    await batch.flush();
    await project.setRef('refs/heads/main', squash);
    await expect(landSession(project, {})).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
    await turn(project, 'Two', create('two.txt'));
    expect((await landSession(project, {})).changes).toMatchObject([{ path: 'two.txt', change: 'added' }]);

    await turn(project, 'Three', create('three.txt'));
    const [ours, theirs] = [await project.tipOf('main'), await project.tipOf(line)];
    const merging = store.batch();
    const both = [ours, theirs];
    const merged = (await store.readCommit(theirs)).tree;
    const merge = await merging.commit({ tree: merged, parents: both, ...ident, message: 'Merge\n' });
    await merging.flush();
    await project.setRef('refs/heads/main', merge);
    await expect(landSession(project, {})).rejects.toMatchObject({
      code: 'NOTHING_TO_LAND',
      message: `main already has all code from ${line}.`,
    });
    await turn(project, 'Four', edit('three.txt', 'three.txt', 'four'));
    expect((await landSession(project, {})).changes).toMatchObject([{ path: 'three.txt', change: 'modified' }]);
  },
);

slowTest('a session on top of another one lands only its own part once the other has landed', async () => {
  const project = await begin();
  await start(project, 'on-top');
  await turn(project, 'Two', edit('one.txt', 'one.txt', 'on top'));
  await landSession(project, { target: session });
  const landed = await landSession(project, { onto: 'main' });
  expect(landed.changes).toMatchObject([{ path: 'one.txt', change: 'modified' }]);
  expect(landed.message).toMatch(/^Do it\n\nTeddy-Landed-From: 20260124-on-top@/);
  // Its base branch is the one that the whole stack started from, never the line below it.
  await turn(project, 'Three', create('three.txt'));
  expect(await landSession(project, {})).toMatchObject({ onto: 'refs/heads/main', along: [] });
  await expect(landSession(project, { target: session, onto: 'teddy/20260124-on-top' })).rejects.toMatchObject({
    code: 'USAGE',
    message: 'teddy/20260124-on-top is a branch of 20260124-on-top, and only its own turns change its code.',
  });
});

slowTest('a session on top of one that has not landed brings that code along, and names its session', async () => {
  const project = await begin();
  const below = await project.tipOf(line);
  await start(project, 'on-top');
  await turn(project, 'Two', create('two.txt'));
  const landed = await landSession(project, {});
  expect(landed).toMatchObject({ onto: 'refs/heads/main', along: [session] });
  expect(landed.message).toContain(`Teddy-Landed-From: ${session}@${below}`);
  // After that, the other session has nothing left to land.
  await expect(landSession(project, { target: session })).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
});

test('a person may edit the message, beginning with the default; an empty one stops the landing', async () => {
  const project = await begin();
  const main = await project.tipOf('main');
  await expect(landSession(project, { edit: async () => ' \n' })).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
  expect(await project.tipOf('main')).toBe(main);
  const offered: string[] = [];
  const edit = async (text: string) => (offered.push(text), 'Mine\n');
  expect((await landSession(project, { edit })).message).toMatch(/^Mine\n\nTeddy-Landed-From: /);
  expect(offered).toHaveLength(1);
  expect(offered[0]).toMatch(/^Do it/);
});

test.each([
  ['given', { message: 'Use hunter2' }],
  ['edited', { edit: async () => 'Use hunter2' }],
])('a secret in a message that is %s does not land, and its author is warned', async (_, request) => {
  const project = await begin();
  project.secrets.set('hunter2', 'password');
  const { commit } = await landSession(project, request);
  const { message } = await project.repository.store.readCommit(commit as Oid);
  expect(message).toMatch(/^Use \[masked: password\]\n/);
  expect(project.said).toContain('warning: 1 secret in your message was masked.');
});

test('another line in the same session lands beside the first one, which is reported', async () => {
  const project = await begin();
  const first = await project.tipOf(line);
  await project.switchTo('try-again', first);
  await turn(project, 'Two', create('two.txt'));
  await project.switchTo(line);
  await turn(project, 'Other', create('other.txt'));
  await landSession(project, {});
  expect(await landSession(project, { target: 'try-again' })).toMatchObject({
    changes: [{ path: 'two.txt', change: 'added' }],
    archive: null,
  });
  expect(project.said.join('\n')).toMatch(/main already had code from another branch of 20260124-add-login \(\w{10}\)/);
  expect(project.said.join('\n')).toContain('try-again has a custom name and is not archived');
});

slowTest('a conflict names the files and a manual way, changes no ref, and the manual landing counts', async () => {
  const project = await begin({ 'README.md': '# Notes\n', 'b.txt': 'b\n' });
  await turn(project, 'Two', edit('README.md', '# Notes', '# Ours'), edit('b.txt', 'b', 'ours'));
  await commitOn(project, 'main', { 'README.md': '# Theirs\n', 'b.txt': 'theirs\n', 'main.txt': 'main\n' });
  const { store } = project.repository;
  const refs = await store.listRefs('refs/');
  const error = await landSession(project, {}).catch((reason: unknown) => reason as Error & { hint: string });
  expect(error).toMatchObject({
    code: 'LAND_CONFLICT',
    message: `${line} and main changed the same lines: README.md, b.txt. Nothing was changed.`,
    hint: expect.stringMatching(/^By hand: `git switch main && git cherry-pick [0-9a-f]{16}`/),
  });
  expect(await store.listRefs('refs/')).toEqual(refs);
  // `git cherry-pick` and a person would make it like this.
  await project.switchTo('main');
  const trailer = `Teddy-Landed-From: ${session}@${await project.tipOf(line)}`;
  await project.commit(`By hand\n\n${trailer}\n`, {
    'README.md': '# Both\n',
    'b.txt': 'both\n',
    'one.txt': 'one.txt\n',
  });
  expect(await store.resolve(archive)).toBeNull();
  const byHand = { commit: await project.tipOf('main'), archive, wasCutOff: true, changes: [] };
  expect(await landSession(project, { target: session })).toMatchObject(byHand);
  await expect(landSession(project, { target: session })).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
  expect(await store.resolve(archive)).toBe(await project.tipOf(line));
});

test('the files of a checked-out target are updated, and edits in the way refuse the landing', async () => {
  const project = await begin();
  await project.switchTo('main');
  await project.write({ 'one.txt': 'mine\n' });
  const refs = await project.repository.store.listRefs('refs/');
  await expect(landSession(project, { target: session })).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
  expect(await project.repository.store.listRefs('refs/')).toEqual(refs);
  await project.write({ 'one.txt': null, 'README.md': 'an edit\n' });
  expect(await landSession(project, { target: session })).toMatchObject({ root: '/project' });
  expect(await project.read('one.txt')).toBe('one.txt\n');
  expect(await project.read('README.md')).toBe('an edit\n');
  const { edits } = await project.repository.workspace.status({ untracked: false });
  expect(edits.map(({ path }) => path)).toEqual(['README.md']);
  project.state.operation = 'merge';
  await expect(landSession(project, { target: session })).rejects.toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
});

test('a plan that is being executed is reported as such', async () => {
  const project = await begin();
  await say(project, 'Two', planOf([create('two.txt')]));
  await project.journals.claim({
    session: session as SessionId,
    turn: '02' as TurnName,
    ref: `refs/heads/${line}` as RefName,
  });
  await landSession(project, {});
  expect(project.said).toContain(`warning: Turn 02 is being executed by process ${process.pid}: none of it is landed.`);
});

test('uncommitted edits and a pending plan are reported, and stay unchanged', async () => {
  const project = await begin();
  await say(project, 'Two', planOf([create('two.txt')]));
  await project.write({ 'README.md': 'mine\n', 'new.txt': 'new\n' });
  await landSession(project, {});
  expect(project.said).toContain('warning: Turn 02 has a plan that was not executed: none of it is landed.');
  expect(project.said).toContain(
    `warning: 2 files differ from the tip of ${line} in /project, and only what is committed is landed: README.md, new.txt.`,
  );
  expect(await pathsOf(project, 'main')).toEqual(['README.md', 'one.txt']);
});

test('the target is the branch from `start`, or a named one, and must exist', async () => {
  const project = await begin();
  const { store } = project.repository;
  const refused = async (onto: string | undefined, code: string) => {
    const refs = await store.listRefs('refs/');
    // The reader can type it.
    const hint = expect.not.stringMatching(/<\w+>/) as string;
    await expect(landSession(project, { onto })).rejects.toMatchObject({ code, hint });
    expect(await store.listRefs('refs/')).toEqual(refs);
  };
  await refused('nowhere', 'UNKNOWN_BRANCH');
  await refused('main~1', 'UNKNOWN_BRANCH');
  await refused('--all', 'UNKNOWN_BRANCH');
  await expect(landSession(project, { message: ' \n' })).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
  await refused(line, 'USAGE');
  await refused('teddy/global', 'USAGE');
  const main = await project.tipOf('main');
  await project.setRef('refs/heads/release', main);
  expect(await landSession(project, { onto: 'release' })).toMatchObject({ onto: 'refs/heads/release' });
  expect(await project.tipOf('main')).toBe(main);
  await store.updateRefs([{ ref: 'refs/heads/main' as RefName, old: main, new: null }], 'gone');
  await refused(undefined, 'UNKNOWN_BRANCH');
  await project.setRef('refs/remotes/origin/main', main);
  const made = 'A remote has it: create it with `git branch main origin/main`, then land again.';
  await expect(landSession(project, {})).rejects.toMatchObject({ code: 'UNKNOWN_BRANCH', hint: made });
  // From a HEAD on no branch.
  await project.switchTo('release');
  await project.detach();
  await start(project, 'detached');
  await refused(undefined, 'UNKNOWN_BRANCH');
  await expect(landSession(project, { target: `${main}..${line}` })).rejects.toMatchObject({ code: 'USAGE' });
});

test('a session that began before the first commit creates its target branch', async () => {
  const project = await given.session(null);
  await expect(landSession(project, {})).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
  await turn(project, 'One', create('one.txt'));
  expect(await landSession(project, {})).toMatchObject({ before: null, changes: [{ path: 'one.txt' }] });
  expect(await pathsOf(project, 'main')).toEqual(['one.txt']);
  expect((await project.repository.store.readCommit(await project.tipOf('main'))).parents).toEqual([]);
});

slowTest('a session that only talked has nothing to land, and is not archived by trying', async () => {
  const project = await given.session();
  await say(project, 'What is this?', 'Notes.\n');
  await expect(landSession(project, {})).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
  expect(await project.repository.store.resolve(archive)).toBeNull();
});

test('a landing whose commit this clone lacks is refused, with a command that fetches it', async () => {
  const project = await begin();
  const trailer = `Teddy-Landed-From: ${session}@${'f'.repeat(40)}`;
  await project.switchTo('main');
  await project.commit(`Landed elsewhere\n\n${trailer}\n`, { 'else.txt': 'else\n' });
  await expect(landSession(project, { target: session })).rejects.toMatchObject({
    code: 'UNKNOWN_COMMIT',
    hint: expect.stringMatching(/teddy pull/),
  });
});

test('a dry run reports the same and writes no ref', async () => {
  const project = await begin();
  const refs = await project.repository.store.listRefs('refs/');
  const dry = await landSession(project, { isDryRun: true });
  expect(dry).toMatchObject({ commit: null, archive: null, changes: [{ path: 'one.txt' }] });
  expect(await project.repository.store.listRefs('refs/')).toEqual(refs);
  expect((await landSession(project, {})).message).toBe(dry.message);
});

slowTest('a branch that moves meanwhile is merged again', async () => {
  const project = await begin();
  const racing = withRace(project, () => commitOn(project, 'main', { 'raced.txt': 'raced\n' }));
  await landSession(racing, {});
  expect(await pathsOf(project, 'main')).toEqual(['README.md', 'one.txt', 'raced.txt']);
});

test('a landing that was killed before archiving is finished by the next one', async () => {
  const project = await begin();
  const { store } = project.repository;
  const updateRefs: typeof store.updateRefs = async (updates, ...rest) => {
    if (updates.some(({ ref }) => ref === archive)) throw new Error('killed');
    return store.updateRefs(updates, ...rest);
  };
  const dying = { ...project, repository: { ...project.repository, store: { ...store, updateRefs } } };
  await expect(landSession(dying, {})).rejects.toThrow('killed');
  expect(await pathsOf(project, 'main')).toEqual(['README.md', 'one.txt']);
  const commit = await project.tipOf('main');
  expect(await landSession(project, {})).toMatchObject({ commit, archive, wasCutOff: true, changes: [] });
  expect(await store.resolve(archive)).toBe(await project.tipOf(line));
  await expect(landSession(project, {})).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
  expect(await project.tipOf('main')).toBe(commit);
});

test('an archive with other commits is left unchanged, and one that is ahead stays ahead', async () => {
  const project = await begin();
  const { store } = project.repository;
  const tip = await project.tipOf(line);
  const ahead = await commitOn(project, line, { 'ahead.txt': 'ahead\n' });
  await project.setRef(archive, ahead);
  await project.switchTo('main');
  await project.setRef(`refs/heads/${line}`, tip);
  await project.switchTo(line);
  expect(await landSession(project, {})).toMatchObject({ line: { tip }, archive });
  expect(await store.resolve(archive)).toBe(ahead);
  const main = await project.tipOf('main');
  await project.setRef(archive, main);
  await turn(project, 'Two', create('two.txt'));
  expect(await landSession(project, {})).toMatchObject({ archive: null });
  expect(await store.resolve(archive)).toBe(main);
  expect(project.said.at(-1)).toContain(`${archive} contains commits other than ${line}`);
});

slowTest(
  'a session from elsewhere moves no branch of its own choice without a question, except the default one',
  async () => {
    const project = await memoryProject();
    await project.switchTo('release', await project.tipOf('main'));
    await start(project);
    await turn(project, 'One', create('one.txt'));
    const before = await project.tipOf('release');
    await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
    const own = new Set(project.trusted);
    // A colleague's clone trusts nothing yet.
    project.trusted.clear();
    const refusal = {
      code: 'NOT_APPROVED',
      exitCode: 4,
      hint: `To land it there: \`teddy land -s ${line} --onto release\`.`,
    };
    await expect(landSession(project, {})).rejects.toMatchObject(refusal);
    // A preview moves nothing.
    expect(await landSession(project, { isDryRun: true })).toMatchObject({ onto: 'refs/heads/release' });
    const asked: string[] = [];
    project.notices.confirm = async (question) => (asked.push(question), false);
    await expect(landSession(project, {})).rejects.toMatchObject(refusal);
    expect(asked).toEqual([`${line} was not started here, and names release as the branch to land on. Land it there?`]);
    expect(await project.tipOf('release')).toBe(before);
    // Its author is not asked, nor anybody who has said yes or names the branch.
    for (const oid of own) project.trusted.add(oid);
    expect(await landSession(project, { isDryRun: true })).toMatchObject({ onto: 'refs/heads/release' });
    project.trusted.clear();
    project.notices.confirm = async () => true;
    expect(await landSession(project, {})).toMatchObject({ onto: 'refs/heads/release' });
    project.trusted.clear();
    delete project.notices.confirm;
    await turn(project, 'Two', create('two.txt'));
    expect(await landSession(project, { onto: 'release' })).toMatchObject({ onto: 'refs/heads/release' });
  },
);

test('with the branch deleted, the session is found by its archive, to land it again and for its history', async () => {
  const project = await begin();
  const tip = await project.tipOf(line);
  await landSession(project, {});
  await project.switchTo('main');
  await project.repository.store.updateRefs([{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }], 'gone');
  await project.setRef(
    'refs/heads/release',
    (await project.repository.store.readCommit(await project.tipOf('main'))).parents[0] as Oid,
  );
  const archived = await landSession(project, { target: 'add-login', onto: 'release' });
  expect(archived).toMatchObject({ line: { tip }, archiveCommand: null });
  await expect(landSession(project, { target: 'add-login' })).rejects.toMatchObject({
    code: 'NOTHING_TO_LAND',
    hint: `It is archived. To continue it: \`teddy archive --restore ${session}\`.`,
  });
  expect(await showHistory(project, { target: session, format: 'markdown' })).toMatchObject({ session, commit: tip });
  await expect(showHistory(project, { target: 'no-such', format: 'markdown' })).rejects.toMatchObject({
    code: 'UNKNOWN_SESSION',
  });
});

test('a target that is checked out elsewhere is named, and an operation in progress there refuses the landing', async () => {
  const project = await begin();
  project.linked.push(memoryWorkTree('refs/heads/main' as RefName, { root: '/linked/main', operation: 'rebase' }));
  await expect(landSession(project, {})).rejects.toMatchObject({
    code: 'OPERATION_IN_PROGRESS',
    message: 'A rebase is in progress in /linked/main.',
    hint: expect.stringContaining('`git -C /linked/main status`'),
  });
  expect(await project.repository.store.readFile(await project.tipOf('main'), 'one.txt' as RepoPath)).toBeNull();
});

test('a target behind its upstream is named, with the command that updates it; the landing continues', async () => {
  const project = await begin();
  project.configuration.set('branch.main.remote', 'origin');
  project.configuration.set('branch.main.merge', 'refs/heads/main');
  await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
  await landSession(project, { isDryRun: true });
  expect(project.said.filter((text) => text.includes('behind'))).toEqual([]);
  await project.setRef('refs/heads/theirs', await project.tipOf('main'));
  await commitOn(project, 'theirs', { 'theirs.txt': 'x\n' });
  await project.setRef('refs/remotes/origin/main', await project.tipOf('theirs'));
  expect(await landSession(project, {})).toMatchObject({ onto: 'refs/heads/main', changes: [{ path: 'one.txt' }] });
  expect(project.said.filter((text) => text.includes('behind'))).toEqual([
    'warning: main is 1 commit behind origin/main. To bring it up to date: `git switch main && git merge origin/main`',
  ]);
});

test('commits on the branch where the session began are counted before they are brought to another one', async () => {
  const project = await memoryProject({ 'README.md': '# Notes\n' });
  await project.setRef('refs/heads/develop', await project.tipOf('main'));
  await project.switchTo('develop');
  await project.commit('Develop one\n', { 'd1.txt': '1\n' });
  await project.commit('Develop two\n', { 'd2.txt': '2\n' });
  await start(project);
  await turn(project, 'One', create('one.txt'));
  const along = () => project.said.filter((text) => text.includes('along'));
  await landSession(project, { isDryRun: true });
  expect(along()).toEqual([]);
  let known: string[] = [];
  const edit = async (message: string) => {
    known = along();
    return message;
  };
  const landed = await landSession(project, { onto: 'main', edit });
  expect(landed.changes.map(({ path }) => path)).toEqual(['d1.txt', 'd2.txt', 'one.txt']);
  expect(known).toEqual([
    `warning: 2 commits from develop come along: ${session} started there, and main does not have them.`,
  ]);
  expect(along()).toEqual(known);
  await turn(project, 'Two', create('two.txt'));
  await landSession(project, { onto: 'main' });
  expect(along()).toEqual(known);
});

test('edits from before the first message land only if the user says so', async () => {
  const project = await given.session({ 'README.md': '# Notes\n' });
  await project.write({ 'README.md': '# My notes\n' });
  await turn(project, 'One', create('one.txt'));
  const before = await project.tipOf('main');
  await expect(landSession(project, { onto: 'main', message: 'It is done' })).rejects.toMatchObject({
    code: 'OWN_EDITS',
    message: expect.stringContaining('your own edits to README.md'),
    hint: expect.stringMatching(
      `^To land them too: \`teddy land -s ${line} --onto main -m 'It is done' --with-own-edits\`\\. To leave`,
    ),
  });
  const asked: string[] = [];
  const answer = (yes: boolean) => ({
    ...project,
    notices: { ...project.notices, confirm: async (question: string) => asked.push(question) > 0 && yes },
  });
  await expect(landSession(answer(false), {})).rejects.toMatchObject({ code: 'OWN_EDITS' });
  expect(await project.tipOf('main')).toBe(before);
  expect((await landSession(project, { isDryRun: true })).ownEdits).toMatchObject([{ path: 'README.md', of: null }]);
  const landed = await landSession(answer(true), {});
  expect(landed.ownEdits).toMatchObject([{ path: 'README.md', of: null }]);
  expect(landed.message).toContain('Do it\n\n- 01 Do it\n- own edits, not part of a plan: README.md\n');
  expect(asked).toHaveLength(2);
});

test('later edits, and code from a failed run, land with a notice, which skips code that has landed before', async () => {
  const project = await begin();
  await project.write({ 'README.md': '# My notes\n', 'one.txt': 'mine\n' });
  await turn(project, 'Two', create('two.txt'));
  await project.write({ 'one.txt': null });
  await turn(project, 'Three', create('three.txt'));
  const landed = await landSession(project, {});
  expect(landed).toMatchObject({ ownEdits: [{ path: 'README.md', of: null }], failed: [] });
  project.command.run = async () => ({ exitCode: 1 });
  await turn(project, 'Four', create('four.txt'), command('false'));
  const next = await landSession(project, {});
  expect(next).toMatchObject({ ownEdits: [], failed: [{ turn: '04', status: 'FAILURE' }] });
  expect(next.message).toContain('Do it\n\n- 04 Do it (its run ended in FAILURE)\n');
});

test('the session’s newest other branch with code is named if this one has none; once landed, the session is', async () => {
  const project = await begin();
  await undoTurn(project, {});
  const branch = await branchSession(project, { turn: '01', switch: true });
  await turn(project, 'Other', create('other.txt'));
  const other = branch.ref.slice('refs/heads/'.length);
  await expect(landSession(project, { target: line })).rejects.toMatchObject({
    code: 'NOTHING_TO_LAND',
    hint: `${other} has some: \`teddy land -s ${other} --onto main\`.`,
  });
  await project.switchTo('main');
  expect((await listSessions(project))[0]).toMatchObject({ state: 'closed', beside: { line: other, has: 'code' } });
  await landSession(project, { target: other });
  expect((await listSessions(project))[0]).toMatchObject({ line, state: 'landed' });
});

test('the status offers a landing if there is something to land, on this branch or another one', async () => {
  const project = await begin();
  const next = async () => (await readStatus(project)).next.filter((command) => command.includes('land'));
  expect(await next()).toEqual(['teddy land']);
  await undoTurn(project, {});
  expect(await next()).toEqual([]);
  await undoTurn(project, { turn: '01' });
  await landSession(project, {});
  expect(await next()).toEqual([]);
  await undoTurn(project, {});
  // The undo of code that has landed can itself be landed.
  expect(await next()).toEqual(['teddy land']);
});

test('the status names the branch with code', async () => {
  const project = await begin();
  await undoTurn(project, {});
  const branch = await branchSession(project, { turn: '01', switch: true });
  await turn(project, 'Other', create('other.txt'));
  await project.switchTo(line);
  const other = branch.ref.slice('refs/heads/'.length);
  expect((await readStatus(project)).next).toEqual(['teddy plan -m "what you want"', `teddy land -s ${other}`]);
});

test('a landed session stays landed if only messages follow, or an undo that was undone again', async () => {
  const project = await begin();
  await landSession(project, {});
  const stateOf = async () => (await listSessions(project))[0]?.state;
  const isOpen = async () => (
    await project.switchTo('main'),
    findOpenLine(project).then(
      () => true,
      () => false,
    )
  );
  await giveVerdict(project, { selector: line, turn: '01', verdict: 'approved' });
  expect([await stateOf(), await isOpen()]).toEqual(['landed', false]);
  await project.switchTo(line);
  expect((await readStatus(project)).hasLanded).toBe(true);
  await undoTurn(project, {});
  expect([await stateOf(), (await readStatus(project)).hasLanded]).toEqual(['closed', false]);
  await undoTurn(project, { turn: '01' });
  expect([await stateOf(), await isOpen()]).toEqual(['landed', false]);
  await project.switchTo(line);
  await say(project, 'Two', planOf([create('two.txt')]));
  await giveVerdict(project, { turn: '01', verdict: 'approved' });
  expect([await stateOf(), (await readStatus(project)).hasLanded]).toEqual(['pending', false]);
});

test('a plan that waits on another branch keeps a landed session open, and is reported instead', async () => {
  const project = await begin();
  await landSession(project, {});
  const { ref } = await branchSession(project, { turn: '01', switch: true });
  await say(project, 'Other', planOf([create('other.txt')]));
  const other = ref.slice('refs/heads/'.length);
  await project.switchTo('main');
  expect((await listSessions(project))[0]).toMatchObject({ state: 'pending', beside: { line: other, has: 'plan' } });
  expect((await findOpenLine(project)).ref).toBe(ref);
  expect((await readStatus(project)).next).toEqual([`git switch ${other}`]);
  const archived = await archiveLanded(project, {
    beforeMs: null,
    isDryRun: true,
    signal: new AbortController().signal,
  });
  expect(archived.archived).toEqual([]);
  await project.switchTo(line);
  expect(await readStatus(project)).toMatchObject({
    pendingOn: [other],
    next: [`git switch ${other}`, 'teddy plan -m "what you want"'],
  });
});

test('a session that landed from another branch counts as landed for every command', async () => {
  const project = await begin();
  const { ref } = await branchSession(project, { turn: '01', switch: true });
  await turn(project, 'Other', create('other.txt'));
  await project.switchTo('main');
  expect((await listSessions(project))[0]).toMatchObject({ state: 'closed', beside: null });
  await landSession(project, { target: ref.slice('refs/heads/'.length) });
  expect((await listSessions(project))[0]).toMatchObject({ state: 'landed', beside: null });
  await expect(findOpenLine(project)).rejects.toMatchObject({ code: 'NO_OPEN_SESSION' });
  const request = { beforeMs: null, isDryRun: true, signal: new AbortController().signal };
  expect((await archiveLanded(project, request)).archived).toMatchObject([{ session, lines: [{}, {}] }]);
});

test('the files of a work tree that switches to the branch during the question or in the editor are updated', async () => {
  for (const waits of ['question', 'editor', 'other work tree'] as const) {
    const project = await given.session({ 'README.md': '# Notes\n' });
    if (waits !== 'editor') await project.write({ 'README.md': '# My notes\n' });
    await turn(project, 'One', create('one.txt'));
    const meanwhile = async () => {
      if (waits !== 'other work tree') return project.switchTo('main');
      project.linked.push(memoryWorkTree('refs/heads/main' as RefName, { root: '/linked/main', operation: 'rebase' }));
    };
    project.notices.confirm = async () => (await meanwhile(), true);
    const edit = async (text: string) => (await meanwhile(), text);
    const landing = landSession(project, waits === 'editor' ? { edit } : {});
    if (waits === 'other work tree') {
      await expect(landing).rejects.toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
      continue;
    }
    expect(await landing).toMatchObject({ root: '/project' });
    const { edits } = await project.repository.workspace.status({ untracked: false });
    expect([waits, edits]).toEqual([waits, []]);
    expect(await project.read('one.txt')).toBe('one.txt\n');
  }
});

test('the files of a work tree that switches to the branch while its commit is made are updated', async () => {
  const project = await begin();
  const { store } = project.repository;
  // The first time, nothing has been looked up yet.
  let asked = 0;
  const ident: typeof store.ident = async () => {
    if ((asked += 1) === 2) await project.switchTo('main');
    return store.ident();
  };
  const racing = { ...project, repository: { ...project.repository, store: { ...store, ident } } };
  expect(await landSession(racing, { target: session })).toMatchObject({ root: '/project' });
  expect((await project.repository.workspace.status({ untracked: false })).edits).toEqual([]);
});

test('a dry run names any obstacle to the landing, and otherwise changes nothing and asks nothing', async () => {
  const project = await given.session({ 'README.md': '# Notes\n' });
  await project.write({ 'README.md': '# My notes\n' });
  await turn(project, 'One', create('one.txt'));
  const dry = async (request = {}) => (await landSession(project, { isDryRun: true, ...request })).obstacle;
  expect(await dry()).toMatchObject({
    code: 'OWN_EDITS',
    exitCode: 3,
    hint: expect.stringContaining('--with-own-edits'),
  });
  expect(await dry({ withOwnEdits: true })).toBeNull();
  // The landing itself would ask at this point.
  project.notices.confirm = async () => expect.unreachable('A dry run asks nothing.');
  expect(await dry()).toBeNull();
  expect(project.said.join('\n')).toContain('Landing asks about your own edits to README.md');
  await project.switchTo('main');
  await project.write({ 'one.txt': 'mine\n' });
  const refs = await project.repository.store.listRefs('refs/');
  expect(await dry({ target: session })).toMatchObject({ code: 'FILES_IN_THE_WAY', exitCode: 3 });
  expect(await project.repository.store.listRefs('refs/')).toEqual(refs);
  expect(await project.read('one.txt')).toBe('mine\n');
});

test('a dry run reports a branch that somebody else names', async () => {
  const project = await memoryProject();
  await project.switchTo('release', await project.tipOf('main'));
  await start(project);
  await turn(project, 'One', create('one.txt'));
  await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
  project.trusted.clear();
  const dry = await landSession(project, { isDryRun: true });
  expect(dry.obstacle).toMatchObject({ code: 'NOT_APPROVED', exitCode: 4 });
  expect(project.trusted.size).toBe(0);
});

test('a hint from a landing repeats the given options', async () => {
  const project = await memoryProject();
  await project.switchTo('release', await project.tipOf('main'));
  await start(project);
  await turn(project, 'One', create('one.txt'));
  const given = { message: 'Mine', withOwnEdits: true, isDryRun: true };
  const kept = '-m Mine --with-own-edits --dry-run`';
  await expect(landSession(project, { ...given, onto: 'typo' })).rejects.toMatchObject({
    hint: expect.stringContaining(`\`teddy land -s ${line} --onto main ${kept}`),
  });
  await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
  project.trusted.clear();
  await expect(landSession(project, { ...given, isDryRun: false })).rejects.toMatchObject({
    hint: `To land it there: \`teddy land -s ${line} --onto release -m Mine --with-own-edits\`.`,
  });
  await undoTurn(project, {});
  const branch = await branchSession(project, { turn: '01', switch: true });
  await turn(project, 'Other', create('other.txt'));
  const other = branch.ref.slice('refs/heads/'.length);
  const edit = async (text: string) => text;
  await expect(landSession(project, { ...given, edit, target: line, onto: 'main' })).rejects.toMatchObject({
    hint: `${other} has some: \`teddy land -s ${other} --onto main -m Mine --edit --with-own-edits --dry-run\`.`,
  });
});

test('the named command leaves out the user’s own edits by removing them from the line', async () => {
  const project = await given.session({ 'README.md': '# Notes\n' });
  await project.write({ 'README.md': '# My notes\n' });
  await turn(project, 'One', create('one.txt'));
  const snapshot = (await storyOf(project, await project.tipOf(line))).findIndex((row) => row.includes('snapshot'));
  expect(snapshot).toBeGreaterThan(0);
  await expect(landSession(project, {})).rejects.toMatchObject({
    hint: expect.stringMatching(
      /To leave them out: `git revert --no-edit [0-9a-f]{10}` removes them from .*, and then land/,
    ),
  });
  await project.switchTo('main');
  await expect(landSession(project, { target: session })).rejects.toMatchObject({
    hint: expect.stringContaining(`\`git switch ${line} && git revert --no-edit `),
  });
});

test('if the branch that a session started from was renamed, a working alternative is offered', async () => {
  const project = await begin();
  const main = await project.tipOf('main');
  const drop = (name: string, old: Oid) =>
    project.repository.store.updateRefs([{ ref: `refs/heads/${name}` as RefName, old, new: null }], 'gone');
  const next = async () => (await readStatus(project)).next.filter((command) => /land|git/.test(command));
  await project.setRef('refs/heads/trunk', main);
  await drop('main', main);
  const onto = (branch: string) => `To land on ${branch}: \`teddy land -s ${line} --onto ${branch}\`.`;
  await expect(landSession(project, {})).rejects.toMatchObject({ hint: expect.stringContaining(onto('trunk')) });
  expect(await next()).toEqual(['teddy land --onto trunk']);
  // Only the user knows which of the two is meant.
  await project.setRef('refs/heads/side', main);
  await expect(landSession(project, {})).rejects.toMatchObject({
    hint: expect.stringContaining(`${onto('side')} ${onto('trunk')}`),
  });
  expect(await next()).toEqual(['teddy land --onto side', 'teddy land --onto trunk']);
  await project.setRef('refs/remotes/origin/main', main);
  expect(await next()).toEqual(['git branch main origin/main']);
  await project.setRef('refs/heads/master', main);
  await project.repository.store.updateRefs(
    [{ ref: 'refs/remotes/origin/main' as RefName, old: main, new: null }],
    'gone',
  );
  expect(await next()).toEqual(['teddy land --onto master']);
});

test('a session that has landed on the replacement of a deleted branch counts as landed', async () => {
  const project = await begin();
  const main = await project.tipOf('main');
  await project.setRef('refs/heads/trunk', main);
  await project.setRef('refs/heads/side', main);
  await project.repository.store.updateRefs([{ ref: 'refs/heads/main' as RefName, old: main, new: null }], 'gone');
  await landSession(project, { onto: 'trunk' });
  expect(await readStatus(project)).toMatchObject({
    hasLanded: true,
    next: expect.arrayContaining([`teddy archive ${session}`]),
  });
  expect((await listSessions(project))[0]?.state).toBe('landed');
  for (const branch of ['trunk', 'side']) {
    await project.switchTo(branch);
    expect((await readStatus(project)).line).toBeNull();
  }
});

test('a session that has landed on HEAD’s branch is not open there', async () => {
  const project = await begin();
  await project.setRef('refs/heads/feature', await project.tipOf('main'));
  await landSession(project, { onto: 'feature' });
  expect((await readStatus(project)).hasLanded).toBe(false);
  for (const [branch, state] of [
    ['main', 'done'],
    ['feature', 'landed'],
  ] as const) {
    await project.switchTo(branch);
    expect([branch, (await readStatus(project)).line === null]).toEqual([branch, state === 'landed']);
    expect([branch, (await listSessions(project))[0]?.state === 'landed']).toEqual([branch, state === 'landed']);
  }
  // The line of another session on top of it does not count as a branch that it could have landed on.
  await project.switchTo(line);
  await turn(project, 'Two', create('two.txt'));
  await start(project, 'on-top');
  await turn(project, 'Three', create('three.txt'));
  expect((await listSessions(project)).map(({ state }) => state)).not.toContain('landed');
});

test('a file exactly as another agent’s session left it is reported as that agent’s', async () => {
  const project = await memoryProject({ 'README.md': '# Notes\n' });
  const first = await captureTurns(project, 'claude-code', [{ model: 'opus', files: { 'hello.txt': 'hello\n' } }]);
  await start(project);
  await project.write({ 'hello.txt': 'hello\n', 'README.md': '# My notes\n' });
  await project.stage('hello.txt');
  await turn(project, 'One', create('one.txt'));
  await expect(landSession(project, {})).rejects.toMatchObject({
    code: 'OWN_EDITS',
    message: expect.stringContaining(`your own edits to README.md and hello.txt of ${first.session} from before`),
  });
  const { message, ownEdits } = await landSession(project, { withOwnEdits: true });
  expect(message).toContain(`\n- own edits, not part of a plan: README.md\n- hello.txt of ${first.session}\n`);
  expect(ownEdits.map(({ of }) => of)).toEqual(expect.arrayContaining([null, first.session]));
});
