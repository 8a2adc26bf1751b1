import { describe, expect, test } from 'vitest';
import { editGlobal } from '../../../src/workflow/context/edit-global.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

const stored = async (project: MemoryProject, path: string) =>
  project.readAt(await project.tipOf('teddy/global'), path);
const edit = (project: MemoryProject, name: string, text: string) => editGlobal(project, name, async () => text);

/** `text` is written by one user while another saves `theirs`. */
function editDuring(project: MemoryProject, name: string, text: string, theirs: string) {
  return editGlobal(project, name, async () => {
    await edit(project, name, theirs);
    return text;
  });
}

describe('an edit of a file on teddy/global', () => {
  test('keeps lines that somebody else has added to global.context meanwhile', async () => {
    const project = await memoryProject();
    await edit(project, 'global.context', 'a\n');
    await editDuring(project, 'global.context', 'a\nmine', 'a\ntheirs\n');
    expect(await stored(project, 'global.context')).toBe('a\ntheirs\nmine\n');
  });

  test('to an agent that somebody else has changed meanwhile is refused, and its text is kept', async () => {
    const project = await memoryProject();
    await edit(project, 'agents/dev.md', 'Before.\n');
    const refused = editDuring(project, 'agents/dev.md', 'Mine.\n', 'Theirs.\n');
    await expect(refused).rejects.toMatchObject({
      code: 'REF_MOVED',
      hint: expect.stringContaining('git cat-file -p'),
    });
    expect(await stored(project, 'agents/dev.md')).toBe('Theirs.\n');
    const { hint } = (await refused.catch((error: unknown) => error)) as { hint: string };
    const oid = /cat-file -p ([0-9a-f]+)/.exec(hint)?.[1] as never;
    expect(new TextDecoder().decode(await project.repository.store.readBlob(oid))).toBe('Mine.\n');
  });

  test('that empties an agent removes the agent, unless somebody else has changed it meanwhile', async () => {
    const project = await memoryProject();
    await edit(project, 'agents/dev.md', 'Before.\n');
    await expect(editDuring(project, 'agents/dev.md', '', 'Theirs.\n')).rejects.toMatchObject({ code: 'REF_MOVED' });
    expect(await stored(project, 'agents/dev.md')).toBe('Theirs.\n');
    expect(await edit(project, 'agents/dev.md', ' \n')).toMatchObject({
      removed: true,
      commit: expect.any(String) as string,
    });
    expect(await stored(project, 'agents/dev.md')).toBeNull();
    expect(await edit(project, 'agents/dev.md', '')).toMatchObject({ removed: false, commit: null });
  });

  test('without a change makes no commit', async () => {
    const project = await memoryProject();
    await edit(project, 'global.context', 'a\n');
    const tip = await project.tipOf('teddy/global');
    expect(await edit(project, 'global.context', 'a\n')).toEqual({
      file: 'global.context',
      commit: null,
      removed: false,
    });
    expect(await project.tipOf('teddy/global')).toBe(tip);
  });

  test('to an unreadable list of memos changes nothing, and its text is kept', async () => {
    const project = await memoryProject();
    await edit(project, 'memos.yaml', '- tabs\n');
    const tip = await project.tipOf('teddy/global');
    const refused = edit(project, 'memos.yaml', '- fine\n- Use port: 80\n');
    await expect(refused).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('memos.yaml, line 2') as string,
    });
    const { hint } = (await refused.catch((error: unknown) => error)) as { hint: string };
    const oid = /cat-file -p ([0-9a-f]+)/.exec(hint)?.[1] as never;
    expect(new TextDecoder().decode(await project.repository.store.readBlob(oid))).toBe('- fine\n- Use port: 80\n');
    expect(await project.tipOf('teddy/global')).toBe(tip);
  });

  test('keeps memos that somebody else has added meanwhile', async () => {
    const project = await memoryProject();
    await edit(project, 'memos.yaml', '- mine\n');
    await editDuring(project, 'memos.yaml', '- mine, changed\n', '- mine\n- theirs\n');
    expect(await stored(project, 'memos.yaml')).toBe('- theirs\n- mine, changed\n');
  });

  test('repairs an unreadable list of memos', async () => {
    const project = await memoryProject();
    await project.commit('Broken\n', { '.teddy/memos.yaml': 'x: 1\n' });
    await edit(project, 'memos.yaml', '- mended\n');
    expect(await stored(project, 'memos.yaml')).toBe('- mended\n');
  });
});
