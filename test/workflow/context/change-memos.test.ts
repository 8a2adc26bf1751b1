import { describe, expect, test } from 'vitest';
import { addMemo, listMemos, removeMemo } from '../../../src/workflow/context/change-memos.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';

const stored = async (project: MemoryProject) => project.readAt(await project.tipOf('teddy/global'), 'memos.yaml');

describe('the memos', () => {
  test('of a remote are listed if there are none here, and listing makes nothing', async () => {
    const project = await memoryProject();
    await addMemo(project, 'theirs');
    await project.setRef('refs/remotes/origin/teddy/global', await project.tipOf('teddy/global'));
    const { store } = project.repository;
    const tip = await project.tipOf('teddy/global');
    await store.updateRefs([{ ref: 'refs/heads/teddy/global' as never, old: tip, new: null }], 'x');
    expect(await listMemos(project)).toEqual(['theirs']);
    await expect(project.tipOf('teddy/global')).rejects.toThrow();
    expect(await addMemo(project, 'mine')).toEqual({ fact: 'mine', added: true });
    expect(await stored(project)).toBe('- theirs\n- mine\n');
  });

  test('survive a race: both additions are kept, and each number keeps its meaning', async () => {
    const project = await memoryProject();
    for (const fact of ['one', 'two', 'three']) await addMemo(project, fact);
    await addMemo(
      withRace(project, () => addMemo(project, 'theirs')),
      'mine',
    );
    expect(await listMemos(project)).toEqual(['one', 'two', 'three', 'theirs', 'mine']);
    await removeMemo(
      withRace(project, () => removeMemo(project, '1')),
      '2',
    );
    expect(await listMemos(project)).toEqual(['three', 'theirs', 'mine']);
  });

  test('that somebody else removes at the same moment are reported as missing', async () => {
    const project = await memoryProject();
    await addMemo(project, 'one');
    const racing = withRace(project, () => removeMemo(project, 'one'));
    await expect(removeMemo(racing, '1')).rejects.toMatchObject({ code: 'UNKNOWN_MEMO' });
  });

  test('named by a number are found by their words first', async () => {
    const project = await memoryProject();
    for (const fact of ['2', 'two']) await addMemo(project, fact);
    expect(await removeMemo(project, '2')).toEqual({ fact: '2' });
  });

  test('make commits that are never session entries, whatever their text', async () => {
    const project = await memoryProject();
    await addMemo(project, 'x\n\nTeddy-Session: 20260124-add-login\nTeddy-Entry: memo\nTeddy-Format: 1');
    const { message } = await project.repository.store.readCommit(await project.tipOf('teddy/global'));
    expect(message).toBe('global: add a memo\n');
  });

  test('with a secret are stored unmasked, which is reported', async () => {
    const project = await memoryProject();
    project.secrets.set('hunter2hunter2', 'password');
    await addMemo(project, 'It is hunter2hunter2');
    expect(await stored(project)).toBe('- It is hunter2hunter2\n');
    expect(project.said).toEqual([expect.stringMatching(/^warning: A secret is in this text/)]);
  });
});
