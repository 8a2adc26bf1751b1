import { expect, test } from 'vitest';
import type { RefName } from '../../../src/names.ts';
import { switchSession } from '../../../src/workflow/line/switch.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import { create, line, session, start, turn } from '../../support/turns.ts';

async function begin(): Promise<MemoryProject> {
  const project = await memoryProject();
  await start(project);
  await turn(project, 'One', create('one.txt'));
  await project.switchTo('main');
  return project;
}

const headOf = async (project: MemoryProject) => (await project.repository.workspace?.head())?.ref;

test('a session is switched to by its name, and from where it was', async () => {
  const project = await begin();
  expect(await switchSession(project, 'add-login')).toMatchObject({
    session,
    from: { ref: 'refs/heads/main' },
    isThere: false,
  });
  expect(await headOf(project)).toBe(`refs/heads/${line}`);
  expect(await switchSession(project, session)).toMatchObject({ isThere: true });
});

test('a session that only a remote has gets a branch here', async () => {
  const project = await begin();
  const tip = await project.tipOf(line);
  await project.setRef(`refs/remotes/origin/${line}`, tip);
  await project.repository.store.updateRefs([{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }], 'x');
  await switchSession(project, session);
  expect(await headOf(project)).toBe(`refs/heads/${line}`);
  expect(await project.tipOf(line)).toBe(tip);
});

test('a line of another work tree is named with its path, and HEAD stays', async () => {
  const project = await begin();
  project.linked.push(memoryWorkTree(`refs/heads/${line}` as RefName));
  await expect(switchSession(project, session)).rejects.toMatchObject({
    code: 'LINE_CHECKED_OUT',
    hint: `Work on it there: \`cd /linked/${session}\`.`,
  });
  expect(await headOf(project)).toBe('refs/heads/main');
});
