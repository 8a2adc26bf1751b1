/** The check of a change. Merges by lines, picked commits, and lines that a clone lacks: test/git/ci-landings.test.ts. */
import { beforeEach, describe, expect, test } from 'vitest';
import { judge } from '../../../src/cli/render/checked-change.ts';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { editTree } from '../../../src/session/paths/edit-tree.ts';
import { checkChange, readBaseFile } from '../../../src/workflow/ci/check-change.ts';
import type { CheckRequest } from '../../../src/workflow/ci/ci.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { given } from '../../support/given.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { command, create, edit, line, session, turn } from '../../support/turns.ts';

let project: MemoryProject;

/** HEAD is on the session's line, and `pr` is the branch of the change. */
beforeEach(async () => {
  const actions = [create('a.txt'), edit('README.md', 'one', 'ONE')];
  project = await given.executedTurns({ One: actions }, { 'README.md': 'one\n' });
  await project.setRef('refs/heads/pr', await project.tipOf('main'));
});

const land = async () => (await landSession(project, { target: line, onto: 'pr' })).commit as Oid;

async function commitOn(branch: string, files: Record<string, string>, message = 'By hand\n'): Promise<Oid> {
  await project.switchTo(branch);
  const oid = await project.commit(message, files);
  await project.switchTo(line);
  return oid;
}

async function check(head = 'pr', more: Partial<CheckRequest> = {}, { strict = true, needsSession = false } = {}) {
  const { signal } = new AbortController();
  const usual = { targets: [], runsCommands: false, signedBy: undefined, requireApproval: undefined, signal };
  const checked = await checkChange(project, { ...usual, range: { base: 'main', head }, ...more });
  const hasPolicy = checked.approval !== null;
  const { ok, text, hints } = judge(checked, { isStrict: strict, needsSession, hasPolicy });
  const [landing] = checked.landings;
  const faults = landing?.faults.map(({ path, message }) => `${path ?? ''}: ${message}`);
  return { ok, text, hints, faults, unproven: landing?.unproven, checked };
}

/** Another commit in place of this one, with these changes to its files. */
async function forge(
  oid: Oid,
  files: Record<string, string | null>,
  more: { message?: string; parents?: Oid[] } = {},
): Promise<Oid> {
  const { store } = project.repository;
  const batch = store.batch();
  const edits = Object.entries(files).map(async ([path, text]) => ({
    path: path as RepoPath,
    entry: text === null ? null : { mode: '100644' as const, oid: await batch.blob(text) },
  }));
  const commit = await store.readCommit(oid);
  const tree = await editTree(store, batch, commit.tree, await Promise.all(edits));
  const forged = await batch.commit({ ...commit, ...more, tree });
  await batch.flush();
  return forged;
}

const strange = 'The content in the landing comes neither from its session nor from the commit before the landing.';
const left = 'The landing leaves out the changes that its session made to it.';

describe('a landing’s code', () => {
  test.each([
    [{ 'evil.txt': 'evil\n' }, 'evil.txt', strange],
    [{ 'a.txt': 'evil\n' }, 'a.txt', strange],
    [{ 'a.txt': null }, 'a.txt', left],
    [{ '.teddy/config.yaml': 'approvals: others\n' }, '.teddy/config.yaml', strange],
  ])('has exactly its session’s changes, and not %j', async (files, path, message) => {
    const landing = await land();
    expect(await check()).toMatchObject({ ok: true, text: 'All sessions hold up.', faults: [], unproven: [] });
    expect(await check(await forge(landing, files))).toMatchObject({
      ok: false,
      text: '1 landing is not what the session produces.',
      faults: [`${path}: ${message}`],
    });
  });

  test('is not proven after a manual merge, and a file without a conflict is a fault', async () => {
    await commitOn('pr', { 'README.md': 'uno\n' });
    await expect(land()).rejects.toMatchObject({ code: 'LAND_CONFLICT' });
    const message = `Do it\n\nTeddy-Landed-From: ${session}@${await project.tipOf(line)}\n`;
    const solved = await commitOn('pr', { 'README.md': 'ONE, uno\n', 'a.txt': 'a.txt\n' }, message);
    const byHand = { faults: [], unproven: ['a person has merged README.md'] };
    expect(await check()).toMatchObject({
      ...byHand,
      ok: false,
      text: 'Nothing differs, but not everything is proven. 1 commit without a session: not checked.',
    });
    expect(await check('pr', {}, { strict: false })).toMatchObject({
      ok: true,
      text: 'Nothing differs. --no-strict let the unproven parts pass. 1 commit without a session: not checked.',
    });
    const forged = await forge(solved, { 'evil.txt': 'evil\n' });
    expect(await check(forged, {}, { strict: false })).toMatchObject({
      ...byHand,
      ok: false,
      faults: [`evil.txt: ${strange}`],
    });
  });

  test('belongs to the session that the landing names', async () => {
    const landing = await land();
    const { message } = await project.repository.store.readCommit(landing);
    const forged = await forge(landing, {}, { message: message.replace(`${session}@`, '20260124-another@') });
    const tip = (await project.tipOf(line)).slice(0, 10);
    expect(await check(forged)).toMatchObject({
      ok: false,
      faults: [`: The landing names 20260124-another at ${tip}, which is a commit that belongs to ${session}.`],
    });
  });
});

test('a landing’s promise is judged by what the base branch allows, not by the change', async () => {
  project.command.run = async () => {
    await project.write({ 'lock.json': '{}\n' });
    return {};
  };
  await project.commit('My own\n', { '.teddy/config.yaml': 'promise.allow: [lock.json]\n' });
  await turn(project, 'Install', command('npm install'));
  await land();
  const needed = { requirePromise: { isStrict: false } };
  expect(await check('pr', needed)).toMatchObject({
    ok: false,
    text: 'What plans promised was not kept in 1 place.',
    faults: [],
  });
  const before = await project.tipOf('main');
  await commitOn('main', { '.teddy/config.yaml': 'promise.allow: [lock.json]\n' });
  expect(await check('pr', needed, { strict: false })).toMatchObject({ ok: true });
  const elsewhere = { ...needed, range: { base: before, head: 'pr' } };
  expect(await check('pr', elsewhere, { strict: false })).toMatchObject({ ok: false });
  const ofEntries = { ...needed, range: { base: before, head: line } };
  expect((await check(line, ofEntries, { strict: false })).text).toContain('What plans promised was not kept');
  await project.setRef('refs/heads/main', await project.tipOf('pr'));
  await turn(project, 'More', create('b.txt'));
  await land();
  expect(await check('pr', needed, { strict: false })).toMatchObject({ ok: true });
});

describe('a landing’s approvals', () => {
  const others = { requireApproval: 'others' } as const;

  /** Somebody else, who did not write the message. */
  async function approve(turnName: string): Promise<void> {
    const { text } = project.identity;
    project.identity.text = 'Bob Example <bob@example.org> 1769248800 +0000';
    await giveVerdict(project, { selector: line, turn: turnName, verdict: 'approved' });
    project.identity.text = text;
  }

  test('are required, may come later on the line, and are reported separately', async () => {
    await land();
    expect(await check('pr', others)).toMatchObject({
      ok: false,
      text: '1 approval is missing.',
      faults: [],
      hints: [
        `Somebody who did not write the message: \`teddy approve 01 -s ${session}\`.`,
        `Then \`teddy push -s ${session}\`.`,
      ],
    });
    await approve('01');
    expect(await check('pr', others)).toMatchObject({ ok: true, text: 'All sessions hold up.' });
  });

  test('are those that the base branch requires, whatever the change says', async () => {
    await project.setRef('refs/heads/pr', await commitOn('main', { '.teddy/config.yaml': 'approvals: others\n' }));
    await commitOn('pr', { '.teddy/config.yaml': 'approvals: 1\n' });
    await land();
    expect(await check()).toMatchObject({
      ok: false,
      text: '1 approval is missing. 1 commit without a session: not checked.',
      checked: { approval: { needed: 'others', isFromBase: true } },
    });
  });

  test('are not required again if the base branch has the turn already', async () => {
    await project.setRef('refs/heads/main', await land());
    await turn(project, 'Two', create('b.txt'));
    await approve('02');
    await land();
    expect(await check('pr', others)).toMatchObject({ ok: true, text: 'All sessions hold up.' });
  });
});

describe('code outside any session', () => {
  test('is counted: own commits, and merges that differ from git’s result, but no plain merge', async () => {
    const meanwhile = await commitOn('main', { 'other.txt': 'other\n' });
    const own = await commitOn('pr', { 'own.txt': 'own\n' });
    const merge = await forge(own, { 'other.txt': 'other\n' }, { message: 'Merge\n', parents: [own, meanwhile] });
    const text = 'There is no teddy session in this change. 1 commit without a session: not checked.';
    expect(await check(merge)).toMatchObject({ ok: true, text });
    expect(await check(merge, {}, { needsSession: true })).toMatchObject({
      ok: false,
      text: '1 commit without a session, but --require-session requires one.',
    });
    expect((await check(await forge(merge, { 'evil.txt': 'evil\n' }))).checked.unrecorded).toBe(2);
  });

  test('is a squash with a session’s files: it is named, with the remedy', async () => {
    const [base, tip] = [await project.tipOf('main'), await project.tipOf(line)];
    const commit = await forge(tip, {}, { message: 'Squashed\n', parents: [base] });
    await project.setRef('refs/heads/pr', commit);
    await commitOn('pr', { 'own.txt': 'own\n' });
    expect(await check()).toMatchObject({
      ok: false,
      text: expect.stringMatching(/^Session files came without the commits that made them\./) as string,
      hints: [`Remove ${commit.slice(0, 10)}, and land the code without \`.teddy/\`: \`teddy land ${session}\`.`],
      checked: { squashes: [{ commit, session }] },
    });
  });
});

test('a change with session files whose commit names its session twice does not pass', async () => {
  const tip = await project.tipOf(line);
  const message = (await project.repository.store.readCommit(tip)).message.replace(/^Teddy-Session: .*$/m, '$&\n$&');
  const { ok, checked } = await check(await forge(tip, {}, { message, parents: [await project.tipOf('main')] }));
  expect(ok).toBe(false);
  expect(JSON.stringify(checked)).toContain('The trailer Teddy-Session appears more than once.');
});

test('keys are read from the base branch, and the change’s own file is ignored', async () => {
  await commitOn('main', { 'keys/allowed': 'of the base\n' });
  await project.switchTo('change', await project.tipOf('main'));
  await project.commit('Other keys\n', { 'keys/allowed': 'of the change\n', 'keys/mine': 'mine\n' });
  expect(await readBaseFile(project, 'main', 'keys/allowed')).toBe('of the base\n');
  for (const path of ['keys/mine', '../keys', '/etc/hostname'])
    expect(await readBaseFile(project, 'main', path)).toBe(null);
});
