import { expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { shortRef, type RepoPath } from '../../../src/names.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { captureTurns } from '../../support/captured-line.ts';
import { memoryProject } from '../../support/memory-repository.ts';
import { create, edit, line, planOf, say, start, storyOfLine, turn } from '../../support/turns.ts';

test('an undo takes back the code of its turn alone, and keeps what later turns did', async () => {
  const project = await memoryProject();
  await start(project);
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

test('without a turn it is the newest that changed code and is not undone', async () => {
  const project = await memoryProject();
  await start(project);
  await turn(project, 'One', create('one.txt'));
  await turn(project, 'Two', create('two.txt'));
  await say(project, 'Three', planOf([create('three.txt')]));
  expect((await undoTurn(project, {})).turn).toBe('02');
  expect((await undoTurn(project, {})).turn).toBe('01');
  await expect(undoTurn(project, {})).rejects.toMatchObject({ code: 'NOTHING_TO_UNDO' });
  await expect(undoTurn(project, { turn: '03' })).rejects.toMatchObject({ code: 'NOTHING_TO_UNDO' });
});

test('an edit between the look and the write is left', async () => {
  const project = await memoryProject();
  await start(project);
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

test('a file that is back is taken back, whatever the disk refused after that', async () => {
  const project = await memoryProject({ 'old.txt': 'old\n' });
  await start(project);
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

test('when the entry cannot be added, the error says that the files are taken back, and the next undo adds it', async () => {
  const project = await memoryProject();
  await start(project);
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

test("another agent's turn is taken back as its snapshots have it, all of them together", async () => {
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
