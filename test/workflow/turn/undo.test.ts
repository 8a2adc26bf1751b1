import { describe, expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { shortRef, type RepoPath } from '../../../src/names.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { readLine } from '../../../src/view/view.ts';
import { reviewSession } from '../../../src/workflow/review/session.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { given } from '../../support/given.ts';
import { captureTurns } from '../../support/captured-line.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, edit, line, planOf, say, session, storyOfLine, turn } from '../../support/turns.ts';

test('an undo reverts only its turn’s code, and keeps later turns’ changes', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await turn(project, 'Two', create('two.txt'));
  expect(await undoTurn(project, { turn: '1' })).toMatchObject({ turn: '01', restored: ['one.txt'], left: [] });
  expect(await project.read('one.txt')).toBeNull();
  expect(await project.read('two.txt')).toBe('two.txt\n');
  expect((await storyOfLine(project)).at(-1)).toBe('undo 01');
  const tip = await project.tipOf(line);
  expect(await project.readAt(tip, 'one.txt')).toBeNull();
  expect(await project.readAt(tip, 'two.txt')).toBe('two.txt\n');
  expect((await project.repository.workspace.status({ untracked: true })).edits).toEqual([]);
});

test('an undo without a turn takes the newest turn that changed code and is not undone', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await turn(project, 'Two', create('two.txt'));
  await say(project, 'Three', planOf([create('three.txt')]));
  expect((await undoTurn(project, {})).turn).toBe('02');
  expect((await undoTurn(project, {})).turn).toBe('01');
  await expect(undoTurn(project, {})).rejects.toMatchObject({ code: 'NOTHING_TO_UNDO' });
  await expect(undoTurn(project, { turn: '03' })).rejects.toMatchObject({ code: 'NOTHING_TO_UNDO' });
});

test('a staged edit is left, even if the file on disk is as the turn left it', async () => {
  const project = await given.session({ 'a.txt': 'a\n' });
  await turn(project, 'One', edit('a.txt', 'a', 'A'));
  await project.write({ 'a.txt': 'staged\n' });
  await project.stage('a.txt');
  await project.write({ 'a.txt': 'A\n' });
  await expect(undoTurn(project, {})).rejects.toMatchObject({
    code: 'FILE_MODIFIED',
    message: expect.stringContaining('a.txt (it has staged changes)') as string,
  });
  expect(await project.read('a.txt')).toBe('A\n');
});

test('an undo on a line that is not checked out is refused, with the way to it', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await project.switchTo('main');
  await expect(undoTurn(project, { selector: session })).rejects.toMatchObject({
    code: 'NOT_ON_LINE',
    message: `Undo changes files, but ${line} is not checked out in any work tree.`,
    hint: `Switch to it: \`git switch ${line}\`.`,
  });
});

test('an edit between the check and the write is left', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'), create('two.txt'));
  const readings = new Map<RepoPath, number>();
  const files = project.filesOf(project.repository.workspace.root);
  const readState: typeof files.readState = async (path) => {
    const count = (readings.get(path) ?? 0) + 1;
    readings.set(path, count);
    if (path === 'one.txt' && count === 2) await project.write({ 'one.txt': 'mine\n' });
    return files.readState(path);
  };
  const editing = { ...project, filesOf: () => ({ ...files, readState }) };
  expect(await undoTurn(editing, {})).toMatchObject({
    restored: ['two.txt'],
    left: [{ path: 'one.txt', reason: 'it has changed just now' }],
  });
  expect(await project.read('one.txt')).toBe('mine\n');
});

test('a restored file counts as undone, whatever error the disk reports after that', async () => {
  const project = await given.session({ 'old.txt': 'old\n' });
  await turn(project, 'One', create('one.txt'), edit('old.txt', 'old', 'new'));
  const files = project.filesOf(project.repository.workspace.root);
  const putState: typeof files.putState = async (path, state) => {
    await files.putState(path, state);
    throw new TeddyError('WRITE_FAILED', `${path} could not be written: i/o error (EIO).`, 'Look at the disk.');
  };
  const failing = { ...project, filesOf: () => ({ ...files, putState }) };
  expect(await undoTurn(failing, {})).toMatchObject({ restored: ['one.txt', 'old.txt'], left: [] });
  expect((await project.repository.workspace.status({ untracked: true })).edits).toEqual([]);
});

test('if the entry cannot be added, the error reports the restored files, and the next undo adds it', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  const { workspace } = project.repository;
  const publish = () => Promise.reject(new Error('the disk is gone'));
  const broken = { ...project, repository: { ...project.repository, workspace: { ...workspace, publish } } };
  await expect(undoTurn(broken, {})).rejects.toMatchObject({
    code: 'UNDO_INCOMPLETE',
    message: expect.stringContaining('taken back on disk, but the entry could not be added: the disk is gone'),
  });
  expect(await project.read('one.txt')).toBeNull();
  expect(await undoTurn(project, {})).toMatchObject({ turn: '01', restored: ['one.txt'] });
  expect(await project.readAt(await project.tipOf(line), 'one.txt')).toBeNull();
});

test("another agent's turn is undone by its snapshots, all of them together", async () => {
  const project = await memoryProject();
  const { ref } = await captureTurns(project, 'claude-code', [
    { model: 'claude-opus', files: { 'one.txt': 'one\n' } },
    { model: 'claude-opus', files: { 'one.txt': 'more\n', 'two.txt': 'two\n' } },
  ]);
  await project.switchTo(shortRef(ref));
  expect(await undoTurn(project, {})).toMatchObject({ turn: '02', restored: ['two.txt', 'one.txt'], left: [] });
  expect(await project.read('one.txt')).toBe('one\n');
  expect((await undoTurn(project, {})).turn).toBe('01');
  expect(await project.read('one.txt')).toBeNull();
  await expect(undoTurn(project, {})).rejects.toMatchObject({ code: 'NOTHING_TO_UNDO' });
});

describe('an undo of some files', () => {
  /** Turn 02 edited one.txt and made two.txt; two.txt was edited since. */
  async function begin() {
    const project = await given.session({ 'one.txt': 'old\n' });
    await turn(project, 'One', create('first.txt'));
    await turn(project, 'Two', edit('one.txt', 'old', 'new'), create('two.txt'));
    await project.write({ 'two.txt': 'mine\n' });
    return project;
  }
  const seen = async (project: MemoryProject, name = '02') => {
    const { undoneBy, partlyUndoneBy } = await showTurn(project, { turn: name });
    const [line] = (await reviewSession(project, undefined)).turns.filter((one) => one.turn === name);
    return [undoneBy !== null, partlyUndoneBy !== null, line?.undoneBy !== null, line?.partlyUndoneBy !== null];
  };

  test('leaves the turn partly undone, and the next undo continues with the rest', async () => {
    const project = await begin();
    expect(await undoTurn(project, { isPartial: true })).toMatchObject({ turn: '02', restored: ['one.txt'] });
    expect((await readLine(project.repository.store, await project.tipOf(line))).entry.status).toBe('PARTIAL');
    expect(await seen(project)).toEqual([false, true, false, true]);
    await expect(undoTurn(project, {})).rejects.toMatchObject({ code: 'FILE_MODIFIED' });
    await project.write({ 'two.txt': 'two.txt\n' });
    expect(await undoTurn(project, {})).toMatchObject({ turn: '02', isRedo: false, restored: ['two.txt'] });
    expect(await seen(project)).toEqual([true, false, true, false]);
    const back = await undoTurn(project, { turn: '02' });
    expect(back).toMatchObject({ isRedo: true, restored: ['one.txt', 'two.txt'], left: [] });
    expect(await seen(project)).toEqual([false, false, false, false]);
  });

  test('continues by its name as well, and moves on to the turn before if the rest was undone by hand', async () => {
    const project = await begin();
    await undoTurn(project, { isPartial: true });
    await project.write({ 'two.txt': 'two.txt\n' });
    expect(await undoTurn(project, { turn: '02' })).toMatchObject({ isRedo: false, restored: ['two.txt'] });
    const other = await begin();
    await undoTurn(other, { isPartial: true });
    await other.write({ 'two.txt': null });
    await say(other, 'Three', 'Fine.');
    expect(await undoTurn(other, {})).toMatchObject({ turn: '01', restored: ['first.txt'] });
  });

  test('can itself be undone for some files, and then for the rest', async () => {
    const project = await begin();
    await project.write({ 'two.txt': 'two.txt\n' });
    await undoTurn(project, {});
    await project.write({ 'one.txt': 'mine\n' });
    await expect(undoTurn(project, { turn: '02' })).rejects.toMatchObject({
      message: expect.stringMatching(/cannot be put back completely: one\.txt \(it has changed since the undo\)/),
      hint: expect.stringContaining('--partial` puts back the others'),
    });
    const partly = await undoTurn(project, { turn: '02', isPartial: true });
    expect(partly).toMatchObject({ isRedo: true, restored: ['two.txt'] });
    expect(await seen(project)).toEqual([false, true, false, true]);
    await project.write({ 'one.txt': 'old\n' });
    expect(await undoTurn(project, { turn: '02' })).toMatchObject({ isRedo: true, restored: ['one.txt'] });
    expect(await seen(project)).toEqual([false, false, false, false]);
    await undoTurn(project, { turn: '02' });
    await project.write({ 'one.txt': 'mine\n', 'two.txt': 'mine\n' });
    await expect(undoTurn(project, { turn: '02' })).rejects.toMatchObject({
      message: expect.stringMatching(/^No file of turn 02 can be put back: /),
      hint: expect.stringContaining('put it back by hand'),
    });
  });

  test('is reported when the line lands', async () => {
    const project = await begin();
    await undoTurn(project, { isPartial: true });
    await project.write({ 'two.txt': 'two.txt\n' });
    await landSession(project, {});
    const { message } = await project.repository.store.readCommit(await project.tipOf('main'));
    expect(message).toContain('- 02 Do it (taken back: one.txt; not taken back: two.txt)\n');
  });
});
